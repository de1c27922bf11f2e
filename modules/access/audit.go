package access

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/axsched/ax/modules/domain"
)

// Entry is a change as its author tells it. Before and After are texts, or values
// that are written as JSON; nil is nothing. Values under names that sound like a
// secret are masked, but whoever has secrets under other names leaves them out.
type Entry struct {
	ProjectID domain.ID
	Action    string // like job.write
	Object    string // like job/default/order_stat
	Before    any
	After     any
	Allowed   bool // false: it was refused
}

// AuditRow is a line of the trail.
type AuditRow struct {
	ID        domain.ID
	ProjectID domain.ID
	Actor     string
	Via       string // page, api, cli; "ax" for AX itself
	Remote    string
	Action    string
	Object    string
	Allowed   bool
	Before    string
	After     string
	At        time.Time
}

// AuditQuery asks for the newest rows first. Zero values filter nothing, but an
// empty Projects sees nothing.
type AuditQuery struct {
	Projects domain.ProjectSet
	Who      string
	Action   string
	Object   string // its beginning
	From, To time.Time
	Before   domain.ID // rows with smaller ids only; 0 = from the newest
	Limit    int
}

// Record writes one line into the trail, in the transaction of ctx if there is
// one: a change and its line are there together or not at all. Who, by which road
// and from where is read from ctx.
func (a *Access) Record(ctx context.Context, e Entry) error {
	p, o := domain.PrincipalOf(ctx), domain.OriginOf(ctx)
	actor, via := p.Name, o.Via
	if p.Kind == domain.PrincipalToken {
		actor += " (token " + p.TokenID.String() + ")"
	}
	if actor == "" {
		actor = "-"
	}
	if via == "" {
		via = "ax"
	}
	before, err := shownText(e.Before)
	if err != nil {
		return err
	}
	after, err := shownText(e.After)
	if err != nil {
		return err
	}
	return a.store.InsertAudit(ctx, AuditRow{ID: a.ids(), ProjectID: e.ProjectID, Actor: head(actor, 100), Via: head(via, 10), Remote: head(o.Remote, 64),
		Action: head(e.Action, 40), Object: head(e.Object, 210), Allowed: e.Allowed, Before: before, After: after, At: a.now()})
}

// Denied records a change that was refused.
func (a *Access) Denied(ctx context.Context, project domain.ID, action domain.Action, object string) error {
	return a.Record(ctx, Entry{ProjectID: project, Action: string(action), Object: object})
}

// Audit lists the trail, newest first.
func (a *Access) Audit(ctx context.Context, q AuditQuery) ([]AuditRow, error) {
	if q.Projects.Empty() {
		return nil, nil
	}
	return a.store.AuditRows(ctx, q)
}

// maxShown bounds one side of a line, in bytes.
const maxShown = 256 << 10

func shownText(v any) (string, error) {
	if v == nil {
		return "", nil
	}
	text, ok := v.(string)
	if !ok {
		b, err := json.Marshal(v)
		if err != nil {
			return "", err
		}
		var plain any
		if err := json.Unmarshal(b, &plain); err != nil {
			return "", err
		}
		if b, err = json.MarshalIndent(masked(plain), "", "  "); err != nil {
			return "", err
		}
		text = string(b)
	} else {
		text = secretLine.ReplaceAllString(text, "${1}***")
	}
	if len(text) > maxShown {
		text = strings.ToValidUTF8(text[:maxShown], "") + "…"
	}
	return text, nil
}

const secretNames = `password|passwd|secret|token|api[_-]?key|private[_-]?key|credential|authorization`

var (
	secretName = regexp.MustCompile(`(?i)(` + secretNames + `)`)
	secretLine = regexp.MustCompile(`(?im)^(\s*[-\w."']*(?:` + secretNames + `)[-\w."']*\s*[:=][ \t]*)\S.*$`)
)

// masked puts stars where a name sounds like a secret, at any depth.
func masked(v any) any {
	switch x := v.(type) {
	case map[string]any:
		for k, inner := range x {
			_, isText := inner.(string)
			if isText && secretName.MatchString(k) {
				x[k] = "***"
				continue
			}
			x[k] = masked(inner)
		}
	case []any:
		for i := range x {
			x[i] = masked(x[i])
		}
	}
	return v
}

// head is the first n characters of s.
func head(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}
