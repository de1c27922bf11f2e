package center

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/axsched/ax/modules/broker"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/kit/dbx"
	"github.com/axsched/ax/modules/kit/lease"
	"github.com/axsched/ax/worker/protocol"
)

// post is a Redis with one worker, which never says anything.
type post struct {
	sent chan protocol.Message
}

// Send keeps it.
func (p post) Send(_ context.Context, _ string, _ int64, _ string, m protocol.Message) error {
	p.sent <- m
	return nil
}

// Read waits.
func (post) Read(ctx context.Context, _ int) ([]broker.Letter, error) {
	pause(ctx, 200*time.Millisecond)
	return nil, nil
}

// Remove has nothing to remove.
func (post) Remove(context.Context, []string) error { return nil }

// Post drops them.
func (post) Post(context.Context, []broker.Outgoing) error { return nil }

// Look sees the worker.
func (post) Look(context.Context) (domain.FleetView, error) {
	return domain.FleetView{Workers: []domain.Worker{{Name: "w", Boot: 1, State: domain.WorkerAvailable, Types: []string{"noop"}, Threadless: []string{"noop"},
		Lanes: map[domain.Lane]int{domain.LaneDefault: 4}}}}, nil
}

// Expect and Bury have nothing to do.
func (post) Expect([]domain.Boot) {}

// Bury removes nothing.
func (post) Bury(context.Context, domain.Boot) error { return nil }

// holder takes a lease that lasts as long as the test.
func holder(t *testing.T, url string) *lease.Lease {
	l, err := lease.Take(t.Context(), url, t.Name())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		<-ended
		_ = l.Close(context.WithoutCancel(ctx))
	})
	return l
}

// What the scheduler's role makes is dispatched in the same transaction, in its own pool, as long as the broker of its
// process is the one in force by the row: one that has been succeeded and does not know it yet gives nothing out.
func TestABrokerThatWasSucceededGivesNothingOut(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		b := newBench(t, url)
		var jobs [][]string // each fires once: nothing of its own is in its way
		for i := range 300 {
			jobs = append(jobs, []string{fmt.Sprint("plain", i)})
		}
		b.apply(append(jobs, []string{"last"}, []string{"late"})...)
		office := holder(t, url).Office(lease.Broker)
		epoch, err := office.Campaign(t.Context())
		b.must(err)
		ids, err := domain.NewIDs(2, time.Now)
		b.must(err)
		p := post{make(chan protocol.Message, 10)}
		br := broker.New(&broker.Broker{Queue: queue{b.core}, Judge: b.lifecycle, Overlaps: b.lifecycle, Clock: b.lifecycle, Rows: b.instances, Specs: b.jobs, Mail: p, Sender: p,
			Fleet: p, IDs: ids, Mono: time.Now})
		ctx, stop := context.WithCancel(b.ctx)
		ended := make(chan error, 1)
		go func() { ended <- br.Term(dbx.WithFence(ctx, office.Fence(b.db, epoch)), epoch) }()
		defer func() { stop(); <-ended }()
		b.lifecycle.Early = early{br, office, b.db}

		for i := 0; b.fire(jobs[i][0]).Label != domain.Dispatched; i++ { // the term looks at its rows and workers first
			time.Sleep(10 * time.Millisecond)
			if i == len(jobs)-1 {
				t.Fatal("nothing is given out as it is made")
			}
		}
		in := b.fire("last")
		if in.Label != domain.Dispatched || in.Ver != 2 || b.get(in.ID).Ver != 2 {
			t.Errorf("%s, ver %d, in the row %d", in.Status, in.Ver, b.get(in.ID).Ver)
		}
		for m := range p.sent {
			if m.Epoch != epoch {
				t.Fatalf("sent under epoch %d", m.Epoch)
			}
			if m.IDs[0] == int64(in.AttemptID) {
				break
			}
		}

		office.Resign(t.Context(), epoch) // and the term does not know it
		successor := holder(t, url).Office(lease.Broker)
		if _, err := successor.Campaign(t.Context()); err != nil {
			t.Fatal(err)
		}
		late := b.fire("late")
		if late.Label != domain.Queued || late.AttemptID != 0 {
			t.Errorf("a broker whose epoch is over gave it out: %s", late.Status)
		}
		b.want(late.ID, "running/queued")
		if err := office.Fence(b.db, epoch)(b.ctx); err == nil || errors.Is(err, lease.ErrFenced) {
			t.Errorf("the fence outside of a transaction says %v", err)
		}
	})
}
