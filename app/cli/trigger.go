package cli

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/axsched/ax/app/client"
	"github.com/axsched/ax/modules/domain"
)

// triggering is the flags of trigger.
type triggering struct {
	date, reason string
	params       []string
	wait         bool
	timeout      time.Duration
}

// request is the body of a manual fire.
type request struct {
	BizDate string            `json:"bizDate,omitempty"`
	Params  map[string]string `json:"params,omitempty"`
	Reason  string            `json:"reason,omitempty"`
}

func (p *process) trigger() *cobra.Command {
	var t triggering
	cmd := &cobra.Command{Use: "trigger JOB", Short: "fire a job now; its dependencies are waited for as with any fire", Args: cobra.ExactArgs(1),
		RunE: p.do(func(ctx context.Context, args []string) error {
			if err := jobName(args[0]); err != nil {
				return err
			}
			body, err := t.request()
			if err != nil {
				return err
			}
			return p.fire(ctx, args[0], body, t)
		})}
	f := cmd.Flags()
	f.StringVar(&t.date, "biz-date", "", "the business date, like 2026-02-03; else the one that the job's rule gives now")
	f.StringArrayVar(&t.params, "param", nil, "`name=value` of a parameter of the job; may be given several times")
	f.StringVar(&t.reason, "reason", "", "kept with the instance")
	f.BoolVar(&t.wait, "wait", false, "wait until the instance has ended; exit 3 unless it succeeded")
	f.DurationVar(&t.timeout, "timeout", 0, "with --wait: give up waiting after this time, such as 10m; 0 = never")
	return cmd
}

// request judges what can be judged here.
func (t triggering) request() (request, error) {
	r := request{BizDate: t.date, Reason: t.reason}
	if t.date != "" {
		if _, err := domain.ParseBizDate(t.date); err != nil {
			return r, usage("--biz-date %s: %v", t.date, err)
		}
	}
	if t.timeout < 0 || t.timeout > 0 && !t.wait {
		return r, usage("--timeout wants a positive time, beside --wait")
	}
	if err := plainText("--reason", t.reason); err != nil {
		return r, err
	}
	for _, pair := range t.params {
		if err := plainText("--param", pair); err != nil {
			return r, err
		}
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return r, usage("--param %q: write name=value", pair)
		}
		if _, twice := r.Params[name]; twice {
			return r, usage("--param %s is given twice", name)
		}
		if r.Params == nil {
			r.Params = map[string]string{}
		}
		r.Params[name] = value
	}
	return r, nil
}

func (p *process) fire(ctx context.Context, job string, body request, t triggering) error {
	c, err := p.connect()
	if err != nil {
		return err
	}
	doc, err := c.Send(ctx, http.MethodPost, client.Job(job)+"/trigger", body)
	if err != nil {
		return err
	}
	made, err := decode(doc)
	if err != nil {
		return err
	}
	if p.json && !t.wait {
		return p.document(doc)
	}
	if !p.json {
		if err := p.printf("instance %s\ntrace    %s\n", made.text("id"), made.text("traceId")); err != nil {
			return err
		}
		if note := made.text("note"); note != "" {
			p.note("note: %s\n", printable(note))
		}
		if !t.wait {
			return nil
		}
	}
	return p.await(ctx, c, made.text("id"), t.timeout)
}

const (
	firstLook = 50 * time.Millisecond
	lastLook  = time.Second
	// patience is how long a server that gives no answer is asked again while
	// something is awaited.
	patience = 2 * time.Minute
)

// await asks until the instance has ended, and prints it.
func (p *process) await(ctx context.Context, c *client.Client, id string, limit time.Duration) error {
	began := p.now()
	answered, look, shown := began, firstLook, ""
	for {
		doc, err := c.Get(ctx, client.Instance(id), nil)
		switch {
		case err == nil:
			answered = p.now()
			r, err := decode(doc)
			if err != nil {
				return err
			}
			if now := r.status(); !p.json && now != shown {
				shown = now
				p.note("%s\n", now)
			}
			if r.ended() || limit > 0 && p.now().Sub(began) >= limit {
				return p.verdict(doc, r, limit)
			}
		case !client.Passing(err) || ctx.Err() != nil || p.now().Sub(answered) > patience || limit > 0 && p.now().Sub(began) >= limit:
			return err
		}
		if err := rest(ctx, look); err != nil {
			return err
		}
		look = min(look*3/2, lastLook)
	}
}

func rest(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// verdict prints the awaited instance and says how it ended.
func (p *process) verdict(doc []byte, r row, limit time.Duration) error {
	err := p.shown(doc)
	switch {
	case err != nil:
		return err
	case !r.ended():
		p.note("ax: instance %s is still %s after %s; it goes on\n", r.text("id"), r.status(), limit)
		return &failure{code: exitFailed, told: true, err: fmt.Errorf("the instance has not ended")}
	case r.text("state") != "success":
		p.note("ax: instance %s ended %s\n", r.text("id"), r.status())
		return &failure{code: exitNoSuccess, told: true, err: fmt.Errorf("the instance ended without success")}
	}
	return nil
}
