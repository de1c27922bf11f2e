package incident

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/incident/store"
	"github.com/axsched/ax/modules/kit/i18n"
)

const (
	// singlesMost is how many notices of one incident each a group gets in a while; more
	// are told together, once in the while.
	singlesMost = 20
	tellWithin  = time.Minute
	// untakenMost is how many notices may wait for the receiver; what comes then is told
	// together once it takes them.
	untakenMost = 100
)

// how is a way of telling.
type how int

const (
	wait how = iota
	singly
	together
)

// choose decides how what a group owes is told, by what it was told within the last
// while.
func choose(owed int64, told store.Told) how {
	switch {
	case told.Grouped > 0:
		return wait
	case told.Single+owed <= singlesMost:
		return singly
	case owed > singlesMost:
		return together
	}
	return wait
}

// Body is what a notice carries, as JSON.
type Body struct {
	// ID is the notice's: one that was sent twice has the same.
	ID        domain.ID           `json:"id"`
	Kind      domain.IncidentKind `json:"kind"`
	Subject   string              `json:"subject"`
	Project   string              `json:"project"` // "" = the system
	Opened    time.Time           `json:"opened"`
	Count     int64               `json:"count"`
	Message   string              `json:"message"`
	URL       string              `json:"url"`
	Recovered bool                `json:"recovered"`
	Reminder  bool                `json:"reminder,omitempty"`
	More      int64               `json:"more,omitempty"` // as many others of the kind in the project
}

// tell writes the notices of what is owed. The Sender sends them.
func (k *Keeper) tell(ctx context.Context, now time.Time) error {
	owed, err := k.Store.Owed(ctx)
	if err != nil || len(owed) == 0 {
		return err
	}
	if n, err := k.Store.Untaken(ctx, untakenMost); err != nil || n >= untakenMost {
		return err
	}
	told, err := k.Store.ToldSince(ctx, now.Add(-tellWithin))
	if err != nil {
		return err
	}
	projects, err := k.Projects.Names(ctx)
	if err != nil {
		return err
	}
	for _, o := range owed {
		if err := k.tellGroup(ctx, o, choose(o.N, told[o.Group]), projects[o.Project], now); err != nil {
			return err
		}
	}
	return nil
}

func (k *Keeper) tellGroup(ctx context.Context, o store.Owed, as how, project string, now time.Time) error {
	if as == wait {
		return nil
	}
	ins, err := k.Store.OwedOf(ctx, o.Group, o.Last, singlesMost)
	if err != nil || len(ins) == 0 {
		return err
	}
	if as == together {
		n := k.notice(o.Group, ins[0], project, o.N-1)
		n.Covers = o.N
		return k.Store.TellAll(ctx, n, o.Last, now)
	}
	ns := make([]store.Notice, len(ins))
	for i, in := range ins {
		ns[i] = k.notice(o.Group, in, project, 0)
	}
	return k.Store.Tell(ctx, ns, now)
}

// notice is one notice of an incident, and of more of its group.
func (k *Keeper) notice(g store.Group, i domain.Incident, project string, more int64) store.Notice {
	b := Body{ID: k.IDs(), Kind: i.Kind, Subject: Subject(context.Background(), i), Project: project, Opened: i.OpenedAt, Count: i.Count,
		Message: message(g.What, i, more), Recovered: g.What == store.Recovery, Reminder: g.What == store.Reminder, More: more}
	b.URL = k.PagesURL + "/incidents?" + url.Values{"id": {i.ID.String()}}.Encode()
	if more > 0 {
		q := url.Values{"kind": {string(i.Kind)}}
		if project != "" {
			q.Set("project", project)
		}
		b.URL = k.PagesURL + "/incidents?" + q.Encode()
	}
	text, err := json.Marshal(b)
	if err != nil {
		panic(err) // it has nothing that can't be encoded
	}
	return store.Notice{ID: b.ID, Group: g, Incident: i.ID, Covers: 1, Body: string(text)}
}

func begins(text, with string) bool {
	return len(text) >= len(with) && strings.EqualFold(text[:len(with)], with)
}

// message is the notice in a sentence, in English.
func message(what store.What, i domain.Incident, more int64) string {
	ctx := i18n.With(context.Background(), i18n.English)
	said, subject := Said(ctx, i), Subject(ctx, i)
	text := Title(ctx, i.Kind)
	if what == store.Recovery || !begins(said, subject) { // else what is said names it
		text += ": " + subject
	}
	if i.Count > 1 {
		text += i18n.T(ctx, "incident.notice.times", "n", i.Count)
	}
	if more > 0 {
		text += i18n.T(ctx, "incident.notice.more", "n", more)
	}
	switch what {
	case store.Recovery:
		return i18n.T(ctx, "incident.notice.recovered", "what", text, "why", Over(ctx, i))
	case store.Reminder:
		return i18n.T(ctx, "incident.notice.reminder", "what", text, "at", stamp(i.OpenedAt), "said", said)
	}
	if said != "" {
		text += ": " + said
	}
	return text
}
