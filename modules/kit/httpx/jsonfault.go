package httpx

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// misfit is the first value of a JSON document that does not fit a Go type, in the
// words of whoever wrote the document.
type misfit struct {
	path   string // like files[0].name, "" = the document itself
	wanted string
	given  string
}

// findMisfit looks through raw as encoding/json would read it into a t.
func findMisfit(t reflect.Type, raw json.RawMessage, path string) (misfit, bool) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if json.Unmarshal(raw, reflect.New(t).Interface()) == nil {
		return misfit{}, false
	}
	whole := misfit{path, wantedOf(t), givenIn(raw)}
	var parts []json.RawMessage
	var keys map[string]json.RawMessage
	switch {
	case readsItself(t):
		return whole, true
	case t.Kind() == reflect.Slice && json.Unmarshal(raw, &parts) == nil:
		for i, part := range parts {
			if m, found := findMisfit(t.Elem(), part, path+"["+strconv.Itoa(i)+"]"); found {
				return m, true
			}
		}
	case (t.Kind() == reflect.Struct || t.Kind() == reflect.Map) && json.Unmarshal(raw, &keys) == nil:
		for key, part := range keys {
			if in := typeOfKey(t, key); in != nil {
				if m, found := findMisfit(in, part, strings.TrimPrefix(path+"."+plainName(key), ".")); found {
					return m, true
				}
			}
		}
	}
	return whole, true
}

// typeOfKey is the type that the value of a key is read into, nil for none.
func typeOfKey(t reflect.Type, key string) reflect.Type {
	if t.Kind() == reflect.Map {
		return t.Elem()
	}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			name = f.Name
		}
		if f.IsExported() && strings.EqualFold(name, key) {
			return f.Type
		}
	}
	return nil
}

func readsItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// wantedOf says in words what a value of the type is written like.
func wantedOf(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[time.Time]():
		return "a time such as 2026-02-03T04:05:06Z"
	case reflect.TypeFor[domain.BizDate]():
		return "a date such as 2026-02-03"
	case reflect.TypeFor[domain.ID]():
		return "an id"
	}
	switch t.Kind() {
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	}
	return "a whole number"
}

func givenIn(raw json.RawMessage) string {
	switch text := strings.TrimSpace(string(raw)); text[0] {
	case '"':
		return "this text"
	case '[':
		return "this list"
	case '{':
		return "this object"
	case 't', 'f', 'n':
		return text
	}
	return "this number"
}

// escapeFault finds what JSON can write by an escape and no text can hold: NUL, and
// half of a character that takes two escapes.
func escapeFault(body []byte) error {
	for i := 0; i+1 < len(body); i++ {
		if body[i] != '\\' {
			continue
		}
		i++
		unit, ok := escaped(body[i:])
		if !ok {
			continue
		}
		i += 4
		if unit == 0 {
			return nulError("the body")
		}
		if unit < 0xD800 || unit > 0xDFFF {
			continue
		}
		var low uint64
		if i+2 < len(body) && body[i+1] == '\\' {
			low, _ = escaped(body[i+2:])
		}
		if unit > 0xDBFF || low < 0xDC00 || low > 0xDFFF {
			return domain.Fail(domain.Invalid, "the text holds half a character, \\u%04x", unit).At("the body").
				WithHint(`write both halves, such as \ud83d\ude00, or the character itself in UTF-8`)
		}
		i += 6
	}
	return nil
}

// escaped reads what follows a backslash: u and four hexadecimal digits.
func escaped(rest []byte) (unit uint64, ok bool) {
	if len(rest) < 5 || rest[0] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(rest[1:5]), 16, 16)
	return unit, err == nil
}
