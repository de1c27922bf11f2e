package instance

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// of are shards that stand so.
func of(all ...domain.Status) []domain.Instance {
	out := make([]domain.Instance, len(all))
	for i, s := range all {
		out[i] = domain.Instance{Status: s, Message: "m" + string(rune('0'+i)), Sharding: domain.Sharding{PartOf: 1, Shard: i, Shards: len(all)}}
	}
	return out
}

func TestWhatShardsMakeOfTheirInstance(t *testing.T) {
	won := domain.Status{State: domain.Success}
	backoff := domain.Status{State: domain.Retrying, Label: domain.Backoff}
	queued, sent, runs, orphan, stopping := running(domain.Queued), running(domain.Dispatched), running(domain.Executing), running(domain.Orphan), running(domain.Stopping)
	for name, c := range map[string]struct {
		in     domain.Status
		shards []domain.Instance
		move   domain.MoveName
		to     domain.Status
		note   string
	}{
		"nothing began":                {queued, of(queued, queued), "", queued, ""},
		"one is sent":                  {queued, of(queued, sent), domain.MoveGather, sent, ""},
		"one runs":                     {sent, of(queued, runs, sent), domain.MoveGather, runs, ""},
		"one runs, one was told":       {queued, of(queued, stopping), domain.MoveGather, runs, ""},
		"as before":                    {runs, of(won, runs), "", runs, ""},
		"the rest waits":               {runs, of(won, queued), domain.MoveGather, queued, ""},
		"one waits for its retry":      {runs, of(won, backoff), domain.MoveGather, backoff, ""},
		"only an orphan is left":       {runs, of(won, orphan), domain.MoveGather, orphan, ""},
		"the rest waits for its pool":  {runs, of(won, running(domain.HeldPool)), domain.MoveGather, running(domain.HeldPool), ""},
		"an orphan beside others":      {queued, of(orphan, backoff), domain.MoveGather, backoff, ""},
		"one failed, others go on":     {runs, of(failed(domain.ErrorLabel), runs), "", runs, ""},
		"all done":                     {runs, of(won, won), domain.MoveSucceed, won, ""},
		"the first failure counts":     {runs, of(won, failed(domain.Timeout), failed(domain.ErrorLabel)), domain.MoveFail, failed(domain.Timeout), "2 of 3 shards failed; shard 1: m1"},
		"nobody took one":              {queued, of(won, failed(domain.QueueTimeout)), domain.MoveQueueTimeout, failed(domain.QueueTimeout), "1 of 2 shards failed"},
		"killed":                       {stopping, of(won, killed), domain.MoveKill, killed, "1 of 2 shards had succeeded"},
		"killed, and one had failed":   {stopping, of(failed(domain.ErrorLabel), killed), domain.MoveKill, killed, ""},
		"told, and not all have ended": {stopping, of(won, stopping), "", domain.Status{}, ""},
		"told, and all succeeded":      {stopping, of(won, won), domain.MoveSucceed, won, ""},
	} {
		got := decideShards(domain.Instance{Status: c.in, Sharding: domain.Sharding{Shards: len(c.shards)}}, c.shards)
		if got.Move != c.move || got.Move != "" && got.To != c.to || !strings.Contains(got.Note, c.note) {
			t.Errorf("%s: %+v, want %s to %s", name, got, c.move, c.to)
		}
		if got.Move == "" {
			continue
		}
		from := c.in
		if m, _ := domain.MoveOf(got.Move); !slices.Contains(m.From, from) {
			from = running(via(got.Move))
			if err := domain.CheckMove(domain.MoveGather, c.in, from); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := domain.CheckMove(got.Move, from, got.To); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAMissingShardHasNotEnded(t *testing.T) {
	s := decideShards(domain.Instance{Status: running(domain.Executing), Sharding: domain.Sharding{Shards: 3}}, of(domain.Status{State: domain.Success}, domain.Status{State: domain.Success}))
	if s.To.State.Terminal() {
		t.Errorf("two of three shards end it: %+v", s)
	}
}

// Whatever shards stand in, the instance has a move that the table allows, ends exactly when
// all of them have, and succeeds exactly when all did.
func TestAnyShardsLeadToAMoveOfTheTable(t *testing.T) {
	could := everyStatus()
	could = slices.DeleteFunc(could, func(s domain.Status) bool {
		return s.Label == domain.WaitingDeps || s.Label == domain.WaitingApproval || s.Label == domain.HeldOverlap ||
			s.Label == domain.DepsTimeout || s.Label == domain.UpstreamFailed || s.Label == domain.Skipped
	})
	stands := []domain.Status{running(domain.Queued), running(domain.Dispatched), running(domain.Executing), running(domain.Orphan), running(domain.Stopping), running(domain.HeldPool), {State: domain.Retrying, Label: domain.Backoff}}
	for _, a := range could {
		for _, b := range could {
			for _, stand := range stands {
				shards := of(a, b)
				s := decideShards(domain.Instance{Status: stand, Sharding: domain.Sharding{Shards: 2}}, shards)
				ended := a.State.Terminal() && b.State.Terminal()
				if ended != s.To.State.Terminal() && s.Move != "" || ended && s.Move == "" {
					t.Errorf("%s of %s and %s: %+v", stand, a, b, s)
				}
				if (a.State == domain.Success && b.State == domain.Success) != (s.To.State == domain.Success) {
					t.Errorf("%s of %s and %s: %+v", stand, a, b, s)
				}
				if s.Move == "" {
					continue
				}
				from := stand
				if m, _ := domain.MoveOf(s.Move); !slices.Contains(m.From, from) {
					from = running(via(s.Move))
					if err := domain.CheckMove(domain.MoveGather, stand, from); err != nil {
						t.Errorf("%s of %s and %s: %v", stand, a, b, err)
					}
				}
				if err := domain.CheckMove(s.Move, from, s.To); err != nil {
					t.Errorf("%s of %s and %s: %v", stand, a, b, err)
				}
			}
		}
	}
}

func TestWhenASplitInstanceStartedAndEnded(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	shards := of(domain.Status{State: domain.Success}, domain.Status{State: domain.Success})
	shards[0].StartedAt, shards[0].FinishedAt = at.Add(2*time.Second), at.Add(9*time.Second)
	shards[1].StartedAt, shards[1].FinishedAt = at.Add(time.Second), at.Add(3*time.Second)
	s := decideShards(domain.Instance{Status: running(domain.Executing), Sharding: domain.Sharding{Shards: 2}}, shards)
	if !s.Started.Equal(at.Add(time.Second)) || !s.Finished.Equal(at.Add(9*time.Second)) {
		t.Errorf("from %s to %s", s.Started, s.Finished)
	}
}
