package job

import (
	"encoding/json"
	"net/url"
	"path"
	"strconv"
	"strings"
)

func (d *draft) http(e entry, rest []entry) map[string]any {
	spec := d.settings(rest, "http", map[string]func(entry) (any, bool){
		"url": func(c entry) (any, bool) { return d.url(c) },
		"method": func(c entry) (any, bool) {
			return d.choice(c, []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"}, nil)
		},
		"headers":       func(c entry) (any, bool) { return d.headers(c) },
		"body":          func(c entry) (any, bool) { return d.body(c) },
		"expect_status": func(c entry) (any, bool) { return d.wholes(c, 100, 599) },
		"expect_json":   func(c entry) (any, bool) { return d.conditions(c) },
		"tls":           func(c entry) (any, bool) { return d.tls(c) },
	})
	d.need(e, spec, "http", "url")
	if _, ok := spec["method"]; !ok {
		spec["method"] = "GET"
		if _, body := spec["body"]; body {
			spec["method"] = "POST"
		}
	}
	return spec
}

// url wants a full http or https address. A template may stand after the host only; that is
// the template check's.
func (d *draft) url(e entry) (string, bool) {
	s, ok := d.text(e)
	if !ok {
		return "", false
	}
	plain := strings.NewReplacer("{{", "", "}}", "", " ", "", "|", "").Replace(s)
	u, err := url.Parse(plain)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		d.add(e.at, e.path, idURLWrong, hintURL, "value", clip(s))
		return "", false
	}
	return s, true
}

func (d *draft) headers(e entry) (map[string]string, bool) {
	children, ok := d.entries(e)
	if !ok {
		return nil, false
	}
	out := map[string]string{}
	seen := map[string]bool{}
	for _, c := range children {
		lower := strings.ToLower(c.key)
		switch s, fine := d.text(c); {
		case !fine:
			ok = false
		case !headerName(c.key) || seen[lower]:
			d.add(c.keyAt, c.path, idHeaderName, "", "key", clip(c.key))
			ok = false
		case strings.ContainsAny(s, "\r\n"):
			d.add(c.at, c.path, idHeaderLine, "", "key", c.key)
			ok = false
		default:
			out[c.key] = s
		}
		seen[lower] = true
	}
	return out, ok
}

func headerName(s string) bool {
	return s != "" && len(s) <= MaxNameRunes && strings.IndexFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 127 || strings.ContainsRune(`()<>@,;:\"/[]?={}`, r)
	}) < 0
}

// body takes text as it stands, and a map or list as JSON.
func (d *draft) body(e entry) (string, bool) {
	if _, plain := scalar(e.node); plain {
		return d.text(e)
	}
	raw, ok := d.asJSON(e)
	return string(raw), ok
}

// wholes reads one whole number or a list of them, each once.
func (d *draft) wholes(e entry, least, most int) ([]int, bool) {
	items := []entry{e}
	if _, single := scalar(e.node); !single {
		var ok bool
		if items, ok = d.items(e); !ok {
			return nil, false
		}
	}
	if len(items) == 0 || len(items) > maxListItems {
		d.add(e.at, e.path, idListLong, "", "key", e.key, "n", strconv.Itoa(len(items)), "max", strconv.Itoa(maxListItems))
		return nil, false
	}
	out, fine := []int{}, true
	seen := map[int]bool{}
	for _, it := range items {
		n, ok := d.whole(it, least, most)
		if ok && seen[n] {
			d.add(it.at, it.path, idListTwice, "", "key", e.key, "value", strconv.Itoa(n))
			ok = false
		}
		seen[n] = true
		out, fine = append(out, n), fine && ok
	}
	return out, fine
}

// conditions reads what must stand in the answer's JSON: JSON pointers with plain values.
func (d *draft) conditions(e entry) (map[string]json.RawMessage, bool) {
	children, ok := d.entries(e)
	if !ok {
		return nil, false
	}
	if len(children) == 0 {
		d.add(e.at, e.path, idValueEmpty, "", "key", e.key)
		return nil, false
	}
	out := map[string]json.RawMessage{}
	for _, c := range children {
		switch _, plain := scalar(c.node); {
		case c.key != "" && !strings.HasPrefix(c.key, "/") || badEscape(c.key):
			d.add(c.keyAt, c.path, idPointer, hintPointer, "key", clip(c.key))
			ok = false
			continue
		case !plain && !isNull(c.node):
			d.wrongType(c, "text")
			ok = false
			continue
		}
		value, fine := d.asJSON(c)
		out[c.key], ok = value, ok && fine
	}
	return out, ok
}

// badEscape reports a ~ of a JSON pointer that is neither ~0 nor ~1.
func badEscape(pointer string) bool {
	return strings.Contains(strings.NewReplacer("~0", "", "~1", "").Replace(pointer), "~")
}

// tls reads the files on the worker's machine by which the other side, or the worker, is known. Nothing switches the check off.
func (d *draft) tls(e entry) (map[string]any, bool) {
	children, ok := d.entries(e)
	if !ok {
		return nil, false
	}
	before := len(d.problems)
	rest := make([]entry, 0, len(children))
	for _, c := range children {
		if strings.Contains(c.key, "insecure") || strings.Contains(c.key, "verify") {
			d.add(c.keyAt, c.path, idTLSInsecure, hintTLSInsecure, "key", clip(c.key))
			continue
		}
		rest = append(rest, c)
	}
	file := func(c entry) (any, bool) { return d.workerPath(c) }
	spec := d.settings(rest, "http", map[string]func(entry) (any, bool){
		"ca_file": file, "cert_file": file, "key_file": file,
		"server_name": func(c entry) (any, bool) {
			s := d.line(c, MaxNameRunes)
			return s, s != ""
		},
	})
	_, cert := spec["cert_file"]
	if _, key := spec["key_file"]; cert != key && len(d.problems) == before {
		d.add(e.at, e.path, idTLSPair, "")
	}
	return spec, len(d.problems) == before
}

// workerPath reads an absolute path on the worker's machine.
func (d *draft) workerPath(e entry) (string, bool) {
	s, ok := d.text(e)
	if ok && !path.IsAbs(s) {
		d.add(e.at, e.path, idPathRelative, "", "key", e.key, "value", clip(s))
		return "", false
	}
	return s, ok
}
