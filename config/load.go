package config

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/caarlos0/env/v11"
)

// given is a key's text as one source gives it. All sources are read by the same reader, so that a value means the
// same wherever it stands.
type given struct{ text, source string }

// Load reads the set-up: defaults, then the YAML file (file "" = none), then the variables AX_… among env
// (KEY=value), then flags (key → text; only those that were given). An empty text is as if not given. The error is
// Problems with every unknown key and every text that is no value of its key; Validate judges the values themselves.
func Load(file string, env []string, flags map[string]string) (Config, error) {
	c := Default()
	c.sources = map[string]string{}
	keys := keysOf(&c)
	var problems Problems
	all := map[string]given{}
	if file != "" {
		maps.Copy(all, readFile(file, keys, &problems))
	}
	maps.Copy(all, readEnvironment(env, keys, &problems))
	maps.Copy(all, readFlags(flags, keys, &problems))
	for _, k := range keys {
		g, ok := all[k.name]
		if !ok {
			continue
		}
		if err := c.set(k.name, g.text); err != nil {
			shown := fmt.Sprintf(", not %q", g.text)
			if k.secret() {
				shown = ""
			}
			problems.add(k.name, g.source, "wants %s%s", k.wants(), shown)
			continue
		}
		c.sources[k.name] = g.source
	}
	if c.RegistryRedisURL == "" {
		c.RegistryRedisURL = c.RedisURL
	}
	return c, problems.err()
}

// set reads text into the key's field.
func (c *Config) set(name, text string) error {
	return env.ParseWithOptions(c, env.Options{
		Environment:   map[string]string{name: text},
		TagName:       "yaml",
		PrefixTagName: "prefix",
	})
}

func readFile(file string, keys []key, problems *Problems) map[string]given {
	text, err := os.ReadFile(file)
	if err != nil {
		problems.add("", "flag --config", "the file can't be read: %v", err)
		return nil
	}
	return readYAML(file, text, keys, problems)
}

func readEnvironment(environ []string, keys []key, problems *Problems) map[string]given {
	found := map[string]given{}
	names := make([]string, len(keys))
	byName := map[string]string{}
	for i, k := range keys {
		names[i], byName[k.env()] = k.env(), k.name
	}
	for _, pair := range environ {
		name, text, _ := strings.Cut(pair, "=")
		key, known := byName[name]
		switch {
		case known && text != "":
			found[key] = given{text, "environment " + name}
		case !known && strings.HasPrefix(name, "AX_") && !othersVariable(name):
			problems.add("", "environment "+name, "no key has this variable%s", hint(name, names))
		}
	}
	return found
}

// othersVariable is true for variables AX_… that are no settings: those of client commands and of tests, and those
// that Kubernetes sets in every pod beside a service named "ax".
func othersVariable(name string) bool {
	if slices.Contains([]string{"AX_URL", "AX_TOKEN", "AX_PORT", "AX_CRASH", "AX_CLOCK_SHIFT_FILE"}, name) {
		return true
	}
	for _, prefix := range []string{"AX_TEST_", "AX_SERVICE_", "AX_PORT_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

func readFlags(flags map[string]string, keys []key, problems *Problems) map[string]given {
	found := map[string]given{}
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		source := "flag --" + name
		i := slices.IndexFunc(keys, func(k key) bool { return k.name == name })
		switch {
		case i < 0:
			problems.add(name, source, "no such key%s", hint(name, namesOf(keys)))
		case keys[i].secret():
			problems.add(name, source, "a secret must not stand on a command line, where every user sees it: use %s", keys[i].env())
		case flags[name] != "":
			found[name] = given{flags[name], source}
		}
	}
	return found
}

func namesOf(keys []key) []string {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.name
	}
	return names
}

func hint(got string, names []string) string {
	if near := nearest(got, names); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}
