package config

import (
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"
)

// Source is a database that sql tasks of a worker may name, as NAME=URL; every way of printing shows its password as stars.
type Source string

// Name is what stands before the =, by which jobs name it.
func (s Source) Name() string {
	name, _, _ := strings.Cut(string(s), "=")
	return name
}

// URL is where the database is.
func (s Source) URL() StoreURL {
	_, text, _ := strings.Cut(string(s), "=")
	return StoreURL(text)
}

// String is the name and the URL with stars.
func (s Source) String() string {
	if !sourceName.MatchString(s.Name()) {
		return stars // it may be a URL without a name
	}
	return s.Name() + "=" + s.URL().String()
}

// GoString is what %#v shows.
func (s Source) GoString() string { return s.String() }

// MarshalText is what JSON, YAML and slog show.
func (s Source) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

var sourceName = regexp.MustCompile(`^[\p{L}\p{N}_][\p{L}\p{N}_.-]{0,99}$`)

// wrongSource judges one. The message never repeats the URL: a password may stand anywhere in a wrong one.
func wrongSource(s Source) string {
	const wants = "wants NAME=mysql://USER:PASSWORD@HOST:PORT/DATABASE, NAME=postgres://USER:PASSWORD@HOST:PORT/DATABASE or NAME=sqlite:///PATH"
	if !sourceName.MatchString(s.Name()) {
		return wants + "; the name has 1 to 100 letters, digits, dots, dashes or underscores"
	}
	fault := func(why string) string { return fmt.Sprintf("%s: %s; %s", s.Name(), why, wants) }
	u, err := url.Parse(string(s.URL()))
	if err != nil {
		return fault("special characters in the password must be percent-encoded, a comma too (%2C)")
	}
	switch u.Scheme {
	case "mysql", "postgres", "postgresql":
		if u.Hostname() == "" || u.User.Username() == "" || strings.Trim(u.Path, "/") == "" {
			return fault("the host, the user or the database's name is missing")
		}
	case "sqlite":
		if u.Host != "" || !path.IsAbs(u.Path) {
			return fault("the path must be absolute, behind three slashes")
		}
	default:
		return fault("the URL is of no kind that AX knows")
	}
	return ""
}

// sourceChecks judges all, and that no two have one name.
func sourceChecks(all []Source) []check {
	var checks []check
	seen := map[string]bool{}
	for _, s := range all {
		wrong := wrongSource(s)
		if wrong == "" && seen[s.Name()] {
			wrong = fmt.Sprintf("%s is there twice", s.Name())
		}
		seen[s.Name()] = true
		checks = append(checks, check{"worker.sources", wrong})
	}
	return checks
}

var userName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,63}$`)

// wrongUser judges the name of an account; whether there is one is seen when a task asks for it.
func wrongUser(name string) string {
	if !userName.MatchString(name) {
		return fmt.Sprintf("%q is no name of an account", name)
	}
	return ""
}
