package template

import (
	"encoding/json"
	"fmt"
	"mime"
	"strings"
)

// httpText is the settings of an HTTP task, taken apart.
type httpText struct {
	method  string
	url     []part
	headers map[string][]part
	body    []part
	hasBody bool
	encode  func(string) string // how a value is written into the body
	ctype   string              // the Content-Type to add, "" when the job gives one
	status  json.RawMessage
	expect  map[string]jsonText
	tls     json.RawMessage
}

// jsonText is a plain JSON value; a string may have templates.
type jsonText struct {
	raw   json.RawMessage
	parts []part // nil: it is no string
}

// http takes the settings of an HTTP task apart.
func (c *compiler) http(raw json.RawMessage) *httpText {
	var spec struct {
		Method  string                     `json:"method"`
		URL     string                     `json:"url"`
		Headers map[string]string          `json:"headers"`
		Body    *string                    `json:"body"`
		Status  json.RawMessage            `json:"expect_status"`
		Expect  map[string]json.RawMessage `json:"expect_json"`
		TLS     json.RawMessage            `json:"tls"`
	}
	if err := json.Unmarshal(raw, &spec); err != nil {
		c.add("exec", 0, IDExecDamaged, "", "reason", err.Error())
		return nil
	}
	h := &httpText{method: spec.Method, headers: map[string][]part{}, url: c.parts("exec.url", spec.URL), status: spec.Status, tls: spec.TLS}
	c.urlPlaces(h.url)
	c.plainMap("exec.tls", spec.TLS)
	h.expect = c.conditions(spec.Expect)
	c.noSecrets("exec.url", IDSecretURL, h.url)
	given := ""
	for _, name := range sortedKeys(spec.Headers) {
		h.headers[name] = c.parts("exec.headers."+name, spec.Headers[name])
		if strings.EqualFold(name, "Content-Type") {
			given = spec.Headers[name]
		}
		if strings.ContainsAny(spec.Headers[name], "\r\n\x00") {
			c.add("exec.headers."+name, 0, IDHeaderBreak, "", "key", name)
		}
	}
	if spec.Body != nil {
		h.hasBody = true
		h.body = c.parts("exec.body", *spec.Body)
		c.body(h, given)
	}
	return h
}

// urlPlaces allows a value only after the host: it may fill a path or a query, never choose
// whom AX talks to.
func (c *compiler) urlPlaces(parts []part) {
	var before strings.Builder
	for _, p := range parts {
		if p.expr == nil {
			before.WriteString(p.text)
			continue
		}
		_, rest, _ := strings.Cut(before.String(), "://")
		if !strings.ContainsAny(rest, "/?#") {
			c.add("exec.url", p.offset, IDURLHost, "", "expr", p.raw)
		}
	}
}

// body chooses how values are written into the body, by its type.
func (c *compiler) body(h *httpText, given string) {
	first := ""
	if len(h.body) > 0 {
		first = strings.TrimSpace(h.body[0].text)
	}
	kind, _, err := mime.ParseMediaType(given)
	if given == "" {
		kind = "text/plain"
		if strings.HasPrefix(first, "{") || strings.HasPrefix(first, "[") {
			kind = "application/json"
		}
		h.ctype = kind + "; charset=utf-8"
		if kind == "application/json" {
			h.ctype = kind
		}
	}
	switch {
	case kind == "application/json" || strings.HasSuffix(kind, "+json"):
		h.encode = jsonInner
		c.jsonPlaces(h.body)
	case kind == "application/x-www-form-urlencoded":
		h.encode = percent
	case kind == "text/plain":
		h.encode = func(s string) string { return s }
	default:
		for _, p := range h.body {
			if p.expr != nil || err != nil {
				c.add("exec.body", p.offset, IDBodyType, "", "type", clip(given))
				return
			}
		}
	}
}

// jsonPlaces wants every value inside a string of a sound JSON text.
func (c *compiler) jsonPlaces(parts []part) {
	inString, escaped, bare := false, false, false
	var probe strings.Builder
	for _, p := range parts {
		if p.expr != nil {
			if !inString || escaped {
				c.add("exec.body", p.offset, IDBodyBare, HintBodyQuote, "expr", p.raw)
				bare = true
			}
			probe.WriteByte('x')
			continue
		}
		probe.WriteString(p.text)
		for i := range len(p.text) {
			switch ch := p.text[i]; {
			case escaped:
				escaped = false
			case inString && ch == '\\':
				escaped = true
			case ch == '"':
				inString = !inString
			}
		}
	}
	var into any
	if err := json.Unmarshal([]byte(probe.String()), &into); err != nil && !bare {
		c.add("exec.body", 0, IDBodyJSON, "", "reason", err.Error())
	}
}

// conditions takes apart what must stand in the answer's JSON.
func (c *compiler) conditions(expect map[string]json.RawMessage) map[string]jsonText {
	out := map[string]jsonText{}
	for pointer, raw := range expect {
		one := jsonText{raw: raw}
		var text string
		if len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &text) == nil {
			if one.parts = c.parts("exec.expect_json."+pathKey(pointer), text); one.parts == nil {
				one.parts = []part{}
			}
		}
		out[pointer] = one
	}
	return out
}

// pathKey is a key as it stands in the path of a problem.
func pathKey(key string) string {
	return strings.NewReplacer(".", "·", "[", "·", "]", "·").Replace(key)
}

// plainMap refuses templates in values that are no place for them.
func (c *compiler) plainMap(field string, raw json.RawMessage) {
	var values map[string]json.RawMessage
	if len(raw) == 0 || json.Unmarshal(raw, &values) != nil {
		return
	}
	for key, value := range values {
		var text string
		if json.Unmarshal(value, &text) == nil {
			c.plain(field+"."+key, text)
		}
	}
}

// plain refuses templates in a text that is no place for them.
func (c *compiler) plain(field, text string) {
	parts, _ := parse(text)
	for _, p := range parts {
		if p.expr != nil {
			c.add(field, p.offset, IDNoPlace, "", "expr", p.raw)
		}
	}
}

// rendered fills in the conditions.
func (h *httpText) rendered(v values) (map[string]json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	for pointer, one := range h.expect {
		out[pointer] = one.raw
		if one.parts == nil {
			continue
		}
		text, err := fill(one.parts, v, nil)
		if err != nil {
			return nil, err
		}
		if out[pointer], err = json.Marshal(text); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// render writes the request.
func (h *httpText) render(v values) (json.RawMessage, error) {
	out := struct {
		Body    *string                    `json:"body,omitempty"`
		Expect  map[string]json.RawMessage `json:"expect_json,omitempty"`
		Status  json.RawMessage            `json:"expect_status,omitempty"`
		Headers map[string]string          `json:"headers,omitempty"`
		Method  string                     `json:"method"`
		TLS     json.RawMessage            `json:"tls,omitempty"`
		URL     string                     `json:"url"`
	}{Method: h.method, Headers: map[string]string{}, Status: h.status, TLS: h.tls}
	var err error
	if out.Expect, err = h.rendered(v); err != nil {
		return nil, err
	}
	if out.URL, err = fill(h.url, v, percent); err != nil {
		return nil, err
	}
	if err := dotSegments(h.url, out.URL); err != nil {
		return nil, err
	}
	if h.ctype != "" {
		out.Headers["Content-Type"] = h.ctype
	}
	for name, parts := range h.headers {
		text, err := fill(parts, v, func(s string) string { return s })
		if err != nil {
			return nil, err
		}
		if strings.IndexFunc(text, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7F }) >= 0 {
			return nil, fmt.Errorf("header %s: a value holds a line break or another control character", name)
		}
		out.Headers[name] = text
	}
	if h.hasBody {
		body, err := fill(h.body, v, h.encode)
		if err != nil {
			return nil, err
		}
		out.Body = &body
	}
	return json.Marshal(out)
}

// dotSegments refuses values that would climb up the path, which no percent-encoding prevents.
func dotSegments(parts []part, rendered string) error {
	if len(parts) < 2 {
		return nil
	}
	path, _, _ := strings.Cut(rendered, "?")
	for _, segment := range strings.Split(path, "/") {
		if segment == "." || segment == ".." {
			return fmt.Errorf("url: a value makes the path hold %q, which would lead elsewhere", segment)
		}
	}
	return nil
}

// percent encodes everything but RFC 3986's unreserved characters, right for a path segment, a
// query and a form alike.
func percent(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		ch := s[i]
		if ch >= 'a' && ch <= 'z' || ch >= 'A' && ch <= 'Z' || ch >= '0' && ch <= '9' || strings.IndexByte("-._~", ch) >= 0 {
			b.WriteByte(ch)
			continue
		}
		b.Write([]byte{'%', hex[ch>>4], hex[ch&15]})
	}
	return b.String()
}

// jsonInner writes a text as the inside of a JSON string.
func jsonInner(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic("a string cannot be written as JSON: " + err.Error())
	}
	out := strings.TrimSuffix(b.String(), "\n")
	return out[1 : len(out)-1]
}
