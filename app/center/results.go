package center

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/axsched/ax/modules/domain"
)

// results reads, for one task that is being granted, what its upstreams handed over.
type results struct {
	c   *core
	ctx context.Context // of the grant, which ends with it
	in  domain.Instance

	deps  []domain.InstanceDep // nil: not read yet
	found map[int]result
}

// result is that of the instance that met one dependency.
type result struct {
	by   domain.ID
	keys map[string]json.RawMessage // nil: it handed nothing over
}

// value is what the instance that met the n-th dependency handed over under a key: a text as it is, a number digit for
// digit, anything else as JSON. The error names the instance that lacks it.
func (r *results) value(n int, key string) (string, error) {
	got, known := r.found[n]
	if !known {
		var err error
		if got, err = r.read(n); err != nil {
			return "", err
		}
		if r.found == nil {
			r.found = map[int]result{}
		}
		r.found[n] = got
	}
	raw, ok := got.keys[key]
	switch {
	case got.keys == nil:
		return "", fmt.Errorf("the upstream instance %s handed no result over", got.by)
	case !ok || bytes.Equal(raw, []byte("null")):
		return "", fmt.Errorf("the result of the upstream instance %s lacks the key %q", got.by, key)
	}
	return plainText(raw)
}

// plainText is a JSON value as a text.
func plainText(raw json.RawMessage) (string, error) {
	if raw[0] != '"' {
		var out bytes.Buffer
		err := json.Compact(&out, raw)
		return out.String(), err
	}
	var text string
	err := json.Unmarshal(raw, &text)
	return text, err
}

// read finds the instance that met the n-th dependency and what it handed over.
func (r *results) read(n int) (result, error) {
	if r.deps == nil {
		id := r.in.ID
		if r.in.IsShard() {
			id = r.in.PartOf
		}
		rows, err := r.c.graph.Store.OfAll(r.ctx, []domain.ID{id})
		if err != nil {
			return result{}, err
		}
		r.deps = rows
	}
	for _, d := range r.deps {
		if d.No != n {
			continue
		}
		if d.By == 0 {
			return result{}, fmt.Errorf("no upstream instance met this dependency: it is %s", d.State)
		}
		text, err := r.c.instances.Result(r.ctx, d.By)
		if err != nil || len(text) == 0 {
			return result{by: d.By}, err
		}
		out := result{by: d.By, keys: map[string]json.RawMessage{}}
		if err := json.Unmarshal(text, &out.keys); err != nil {
			return result{by: d.By}, nil // written by a target that keeps to no rule: it is as if there were none
		}
		return out, nil
	}
	return result{}, fmt.Errorf("this run had no such dependency: its first date, or an older version of the job")
}
