package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// key is one setting of a Config: its dotted name as in the file, and the field that holds it.
type key struct {
	name  string
	value reflect.Value
}

// env is the variable that sets the key: worker.lost_after is AX_WORKER_LOST_AFTER.
func (k key) env() string { return envOf(k.name) }

func envOf(name string) string { return "AX_" + strings.ToUpper(strings.ReplaceAll(name, ".", "_")) }

// secret reports whether the key's value must not stand on a command line or in a message.
func (k key) secret() bool {
	switch k.value.Interface().(type) {
	case Secret, StoreURL, []Source:
		return true
	}
	return false
}

// text is the value for people; secrets are stars.
func (k key) text() string {
	if k.list() {
		parts := make([]string, k.value.Len())
		for i := range parts {
			parts[i] = fmt.Sprint(k.value.Index(i).Interface())
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return fmt.Sprintf("%v", k.value.Interface())
}

// list reports whether the key takes several words.
func (k key) list() bool { return k.value.Kind() == reflect.Slice }

// wants says in words what the key takes.
func (k key) wants() string {
	switch k.value.Interface().(type) {
	case int:
		return "a whole number"
	case time.Duration:
		return "a duration such as 10s or 2m"
	case []string, []Source:
		return "a list of words"
	}
	return "one text"
}

// keysOf lists the keys of c in the order of the struct, with fields that can be set.
func keysOf(c *Config) []key { return walkKeys("", reflect.ValueOf(c).Elem()) }

func walkKeys(prefix string, v reflect.Value) []key {
	var keys []key
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag.Get("yaml")
		if tag == "" {
			continue
		}
		if v.Field(i).Kind() == reflect.Struct {
			keys = append(keys, walkKeys(prefix+tag+".", v.Field(i))...)
			continue
		}
		keys = append(keys, key{name: prefix + tag, value: v.Field(i)})
	}
	return keys
}

// nearest is the name that differs least from got, or "" when none is near enough to be meant.
func nearest(got string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	best := slices.MinFunc(names, func(a, b string) int { return distance(got, a) - distance(got, b) })
	if distance(got, best) > min(len(got)-1, 2+len(got)/8) {
		return ""
	}
	return best
}

// distance counts the single-byte changes that make a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}
