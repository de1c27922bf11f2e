package protocol

import (
	"encoding/json"
	"errors"
)

// errUnusual means that a text is not in the plain form that AX writes; encoding/json decides then.
var errUnusual = errors.New("not in the plain form")

// DecodeDownlink reads an inbox entry as encoding/json does, several times faster where the entry is in the form that
// json.Marshal gives it: a worker spends most of its time on answers. What has an unknown field, white space or anything
// else unusual is left to encoding/json. Nothing in the value shares memory with text.
func DecodeDownlink(text string) (Downlink, error) {
	p := parser{text: text}
	if d, err := p.downlink(); err == nil && p.at == len(text) {
		return d, nil
	}
	var d Downlink
	err := json.Unmarshal([]byte(text), &d)
	return d, err
}

// downlink reads the two kinds that come with every attempt; the others are rare.
func (p *parser) downlink() (d Downlink, err error) {
	err = p.object(func(key string) error {
		switch key {
		case "answer":
			a, err := p.answer()
			d.Answer = &a
			return err
		case "confirm":
			d.Confirm = []int64{}
			return p.array(func() error {
				id, err := p.number()
				d.Confirm = append(d.Confirm, id)
				return err
			})
		}
		return errUnusual
	})
	return d, err
}

func (p *parser) answer() (a Answer, err error) {
	err = p.object(func(key string) (err error) {
		switch key {
		case "message":
			a.Message, err = p.string()
		case "nonce":
			a.Nonce, err = p.string()
		case "grants":
			a.Grants = []Task{}
			return p.array(func() error {
				a.Grants = append(a.Grants, Task{})
				return p.task(&a.Grants[len(a.Grants)-1])
			})
		case "denied":
			a.Denied = []Deny{}
			return p.array(func() error {
				d, err := p.deny()
				a.Denied = append(a.Denied, d)
				return err
			})
		default:
			return errUnusual
		}
		return err
	})
	return a, err
}

func (p *parser) deny() (d Deny, err error) {
	err = p.object(func(key string) (err error) {
		switch key {
		case "attempt":
			d.Attempt, err = p.number()
		case "reason":
			d.Reason, err = p.string()
		default:
			return errUnusual
		}
		return err
	})
	return d, err
}

// task reads a grant.
func (p *parser) task(t *Task) error {
	return p.object(func(key string) (err error) {
		if s := t.text(key); s != nil {
			*s, err = p.string()
			return err
		}
		switch key {
		case "attempt":
			t.Attempt, err = p.number()
		case "expected":
			t.Expected, err = p.number()
		case "timeout":
			t.Timeout, err = p.number()
		case "ordinal":
			t.Ordinal, err = p.int()
		case "exec":
			t.Exec, err = p.raw()
		case "params":
			t.Params, err = p.stringMap()
		case "env":
			t.Env, err = p.stringMap()
		case "shard":
			t.Shard, err = p.shard()
		case "early":
			t.Early, err = p.boolean()
		case "net":
			t.Net, err = p.net()
		case "secrets":
			t.Secrets = []string{}
			return p.array(func() error {
				s, err := p.string()
				t.Secrets = append(t.Secrets, s)
				return err
			})
		default:
			return errUnusual
		}
		return err
	})
}

// text is the field of that name, where it is a text.
func (t *Task) text(key string) *string {
	switch key {
	case "traceId":
		return &t.TraceID
	case "taskId":
		return &t.TaskID
	case "project":
		return &t.Project
	case "taskName":
		return &t.TaskName
	case "bizDate":
		return &t.BizDate
	case "execType":
		return &t.ExecType
	case "lane":
		return &t.Lane
	case "onLost":
		return &t.OnLost
	}
	return nil
}

func (p *parser) shard() (s Shard, err error) {
	err = p.object(func(key string) (err error) {
		switch key {
		case "index":
			s.Index, err = p.int()
		case "total":
			s.Total, err = p.int()
		default:
			return errUnusual
		}
		return err
	})
	return s, err
}

// net leaves what few tasks have to encoding/json.
func (p *parser) net() (*Net, error) {
	raw, err := p.raw()
	if err != nil {
		return nil, err
	}
	n := &Net{}
	return n, json.Unmarshal(raw, n)
}
