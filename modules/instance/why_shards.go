package instance

import (
	"slices"

	"github.com/axsched/ax/modules/domain"
)

// whySplit says of an instance that was split how its shards stand, and of the first that
// waits why; false: it was not, or it ended otherwise than by its shards.
func whySplit(f Facts) (Sentence, bool) {
	in := f.Instance
	switch {
	case !in.IsSplit() || in.State == domain.Cancelled:
		return Sentence{}, false
	case in.State == domain.Failed:
		return say("why.shards_failed", "message", told(in.Message)), true
	case in.State == domain.Success:
		return say("why.shards_success", "n", in.Shards, "at", in.FinishedAt), true
	}
	s := say("why.shards", "n", in.Shards, "list", countShards(f.Shards))
	if f.Waits != nil {
		s.Then = append(s.Then, say("why.shard_waits", "n", f.Waits.Instance.Shard, "why", why(*f.Waits)))
	}
	return s, true
}

// countShards says how many shards stand how, those that have not ended first.
func countShards(shards []domain.Instance) []Sentence {
	var order []domain.Status
	n := map[domain.Status]int{}
	for _, open := range []bool{true, false} {
		for _, s := range shards {
			if open == s.State.Terminal() {
				continue
			}
			if n[s.Status]++; n[s.Status] == 1 {
				order = append(order, s.Status)
			}
		}
	}
	out := make([]Sentence, len(order))
	for i, status := range order {
		out[i] = say("why.shards_so", "n", n[status], "status", status)
	}
	return out
}

// firstWaiting is the first shard that neither runs nor has ended.
func firstWaiting(shards []domain.Instance) *domain.Instance {
	i := slices.IndexFunc(shards, func(s domain.Instance) bool {
		return !s.State.Terminal() && s.Label != domain.Executing && s.Label != domain.Stopping
	})
	if i < 0 {
		return nil
	}
	return &shards[i]
}
