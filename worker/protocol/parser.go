package protocol

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// parser reads JSON in the form that json.Marshal writes. Every method stands at a value and moves behind it, or returns
// errUnusual.
type parser struct {
	text  string
	at    int
	words map[string]string // short texts that occurred: the tasks of an answer have most of theirs in common
}

// wordMax is the longest text that is looked for among those that occurred, in bytes.
const wordMax = 32

// take moves over c, where it is next.
func (p *parser) take(c byte) bool {
	if p.at < len(p.text) && p.text[p.at] == c {
		p.at++
		return true
	}
	return false
}

// object calls field for each key, which reads the value. A key that comes twice is unusual: which one counts is for
// encoding/json to say.
func (p *parser) object(field func(key string) error) error {
	if !p.take('{') {
		return errUnusual
	}
	if p.take('}') {
		return nil
	}
	var seen [24]string
	for n := 0; n < len(seen); n++ {
		key, err := p.string()
		if err != nil || !p.take(':') {
			return errUnusual
		}
		for _, k := range seen[:n] {
			if k == key {
				return errUnusual
			}
		}
		seen[n] = key
		if err := field(key); err != nil {
			return err
		}
		if p.take('}') {
			return nil
		}
		if !p.take(',') {
			return errUnusual
		}
	}
	return errUnusual
}

// array calls element at each element.
func (p *parser) array(element func() error) error {
	if !p.take('[') {
		return errUnusual
	}
	if p.take(']') {
		return nil
	}
	for {
		if err := element(); err != nil {
			return err
		}
		if p.take(']') {
			return nil
		}
		if !p.take(',') {
			return errUnusual
		}
	}
}

// quoted returns a string's inside as it is written, and whether that is what it says.
func (p *parser) quoted() (inside string, plain bool, err error) {
	if !p.take('"') {
		return "", false, errUnusual
	}
	plain = true
	ascii := true
	for start := p.at; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; {
		case c == '"':
			inside = p.text[start:p.at]
			p.at++
			return inside, plain && (ascii || utf8.ValidString(inside)), nil
		case c == '\\':
			plain = false
			p.at++
		case c < ' ':
			return "", false, errUnusual
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return "", false, errUnusual
}

func (p *parser) string() (string, error) {
	start := p.at
	s, plain, err := p.quoted()
	if err != nil {
		return "", err
	}
	if !plain {
		var out string
		err := json.Unmarshal([]byte(p.text[start:p.at]), &out)
		return out, err
	}
	if len(s) > wordMax {
		return strings.Clone(s), nil
	}
	if w, ok := p.words[s]; ok {
		return w, nil
	}
	if p.words == nil {
		p.words = map[string]string{}
	}
	s = strings.Clone(s)
	p.words[s] = s
	return s, nil
}

// number reads a whole number.
func (p *parser) number() (int64, error) {
	negative := p.take('-')
	start := p.at
	var n int64
	for ; p.at < len(p.text) && p.text[p.at]-'0' <= 9; p.at++ {
		if p.at-start == 19 { // 19 digits may be too many, which shows as a negative number; 20 always are
			return 0, errUnusual
		}
		n = n*10 + int64(p.text[p.at]-'0')
	}
	digits := p.at - start
	if digits == 0 || digits > 1 && p.text[start] == '0' || n < 0 {
		return 0, errUnusual
	}
	if negative {
		n = -n
	}
	return n, nil
}

func (p *parser) int() (int, error) {
	n, err := p.number()
	return int(n), err
}

func (p *parser) boolean() (bool, error) {
	if rest := p.text[p.at:]; strings.HasPrefix(rest, "true") {
		p.at += len("true")
		return true, nil
	} else if strings.HasPrefix(rest, "false") {
		p.at += len("false")
		return false, nil
	}
	return false, errUnusual
}

func (p *parser) stringMap() (map[string]string, error) {
	if !p.take('{') {
		return nil, errUnusual
	}
	m := map[string]string{}
	if p.take('}') {
		return m, nil
	}
	for {
		key, err := p.string()
		if err != nil || !p.take(':') {
			return nil, errUnusual
		}
		if m[key], err = p.string(); err != nil {
			return nil, err
		}
		if p.take('}') {
			return m, nil
		}
		if !p.take(',') {
			return nil, errUnusual
		}
	}
}

// raw returns an object as it is written.
func (p *parser) raw() (json.RawMessage, error) {
	start, depth := p.at, 0
	for p.at < len(p.text) {
		switch p.text[p.at] {
		case '"':
			if _, _, err := p.quoted(); err != nil {
				return nil, err
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if p.at++; depth == 0 {
			break
		}
	}
	out := json.RawMessage(p.text[start:p.at])
	if len(out) == 0 || out[0] != '{' || !json.Valid(out) {
		return nil, errUnusual
	}
	return out, nil
}
