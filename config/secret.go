package config

import (
	"net/url"
	"strings"
)

const stars = "*****"

// Secret is a text that every way of printing shows as stars. Convert it to string where it is used.
type Secret string

// String is stars, or nothing for no secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return stars
}

// GoString is what %#v shows.
func (s Secret) GoString() string { return s.String() }

// MarshalText is what JSON, YAML and slog show.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// StoreURL is the URL of a store; every way of printing shows its password as stars. Convert it to string where it
// is used.
type StoreURL string

// String is the URL with stars for the password; one that is no URL is all stars, since the password may be anywhere.
func (u StoreURL) String() string {
	switch {
	case u == "":
		return ""
	case isSentinel(string(u)):
		return redactSentinel(string(u))
	}
	parsed, err := url.Parse(string(u))
	if err != nil || parsed.Scheme == "" || parsed.Opaque != "" {
		return stars
	}
	if _, ok := parsed.User.Password(); ok {
		parsed.User = url.UserPassword(parsed.User.Username(), "PASSWORD")
	}
	if parsed.RawQuery != "" && parsed.Query().Has("password") {
		parsed.RawQuery = "password=PASSWORD"
	}
	return strings.ReplaceAll(parsed.String(), "PASSWORD", stars)
}

// GoString is what %#v shows.
func (u StoreURL) GoString() string { return u.String() }

// MarshalText is what JSON, YAML and slog show.
func (u StoreURL) MarshalText() ([]byte, error) { return []byte(u.String()), nil }
