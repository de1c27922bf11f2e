package web

import (
	"context"
	"time"

	"github.com/axsched/ax/modules/incident/store"
	"github.com/axsched/ax/views/incidents"
)

// apiChannel is a road by which notices go out. A moment that has not been is null.
type apiChannel struct {
	Name      string     `json:"name"`
	TakenAt   *time.Time `json:"takenAt"`   // when the receiver took a notice last
	FailedAt  *time.Time `json:"failedAt"`  // when a try failed last
	FailingAt *time.Time `json:"failingAt"` // since when tries fail; null: the last one was taken
	Fault     string     `json:"fault"`     // why the last try failed; "" = it was taken
	Waiting   int        `json:"waiting"`   // notices that were not taken yet
	NextAt    *time.Time `json:"nextAt"`    // of the next try; null: nothing waits
}

func channelsOf(found []store.Channel) []apiChannel {
	out := make([]apiChannel, len(found))
	for i, c := range found {
		out[i] = apiChannel{Name: c.Name, TakenAt: known(c.TakenAt), FailedAt: known(c.FailedAt), FailingAt: known(c.FailingAt), Waiting: c.Waiting, NextAt: known(c.NextAt)}
		if !c.FailingAt.IsZero() {
			out[i].Fault = c.Fault
		}
	}
	return out
}

// known is a moment, nil when there is none.
func known(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	return &at
}

// channels fills in how the roads fare.
func (h *Handlers) channels(ctx context.Context, p *incidents.ListPage) error {
	found, err := h.Reader.Channels(ctx)
	if err != nil {
		return err
	}
	p.NoChannel = len(found) == 0
	for _, c := range found {
		p.Channels = append(p.Channels, incidents.Channel{Name: c.Name, Taken: c.TakenAt, Failed: c.FailedAt, Failing: c.FailingAt, Fault: c.Fault,
			Waiting: c.Waiting, Next: c.NextAt})
	}
	return nil
}
