package template

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// MaxFreeBytes bounds the settings of a type that AX does not know, once they are filled in.
const MaxFreeBytes = 1 << 20

// node is one value of settings that AX does not know. Templates stand in texts only, and a value stays part of its
// text: whatever it holds, it ends no text, becomes no other kind and adds no key.
type node struct {
	parts []part          // of a text
	list  []*node         // of a list, or the values of a map
	keys  []string        // of a map, in order; as many as list
	raw   json.RawMessage // anything else, as it is
	kind  nodeKind
}

type nodeKind int

const (
	rawNode nodeKind = iota
	textNode
	listNode
	mapNode
)

// free takes the settings of a type that AX does not know apart.
func (c *compiler) free(raw json.RawMessage) *node {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber() // as many digits as were written
	var v any
	if err := dec.Decode(&v); err != nil {
		c.add("exec", 0, IDExecDamaged, "", "reason", err.Error())
		return nil
	}
	return c.node("exec", v)
}

func (c *compiler) node(field string, v any) *node {
	switch v := v.(type) {
	case string:
		return &node{kind: textNode, parts: c.parts(field, v)}
	case []any:
		n := &node{kind: listNode}
		for i, one := range v {
			n.list = append(n.list, c.node(field+"["+strconv.Itoa(i)+"]", one))
		}
		return n
	case map[string]any:
		n := &node{kind: mapNode}
		for k := range v {
			n.keys = append(n.keys, k)
		}
		slices.Sort(n.keys)
		for _, k := range n.keys {
			at := field + "." + plainKey(k)
			if strings.Contains(k, "{{") {
				c.add(at, 0, IDExecKey, "", "key", clip(k))
			}
			n.list = append(n.list, c.node(at, v[k]))
		}
		return n
	}
	out, err := json.Marshal(v) // a number as it was written, true, false, null
	if err != nil {
		c.add(field, 0, IDExecDamaged, "", "reason", err.Error())
	}
	return &node{raw: out}
}

// plainKey is a key as a step of a path, as the reader of job files writes it.
func plainKey(k string) string {
	return strings.NewReplacer(".", "·", "[", "·", "]", "·").Replace(k)
}

// render writes the settings as JSON with every value in its place.
func (n *node) render(v values) (json.RawMessage, error) {
	var b bytes.Buffer
	if err := n.write(&b, v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func (n *node) write(b *bytes.Buffer, v values) error {
	switch n.kind {
	case rawNode:
		b.Write(n.raw)
	case textNode:
		text, err := fill(n.parts, v, nil)
		if err != nil {
			return err
		}
		b.WriteString(`"` + jsonInner(text) + `"`)
	default:
		if err := n.writeAll(b, v); err != nil {
			return err
		}
	}
	if b.Len() > MaxFreeBytes {
		return fmt.Errorf("exec holds more than the %d bytes allowed once it is filled in; put large data into a file and pass its name", MaxFreeBytes)
	}
	return nil
}

// writeAll writes a list or a map.
func (n *node) writeAll(b *bytes.Buffer, v values) error {
	open, shut := byte('['), byte(']')
	if n.kind == mapNode {
		open, shut = '{', '}'
	}
	b.WriteByte(open)
	for i, one := range n.list {
		if i > 0 {
			b.WriteByte(',')
		}
		if n.kind == mapNode {
			b.WriteString(`"` + jsonInner(n.keys[i]) + `":`)
		}
		if err := one.write(b, v); err != nil {
			return err
		}
	}
	b.WriteByte(shut)
	return nil
}
