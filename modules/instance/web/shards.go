package web

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strconv"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/i18n"
	"github.com/axsched/ax/views/instances"
)

// shownShards is how many shards a page names.
const shownShards = 100

// shardsOf are the shards of the run in force, those that have not succeeded first, and how
// many more there are.
func (h *Handlers) shardsOf(ctx context.Context, w whole) ([]instances.Shard, int, error) {
	all := w.shards()
	shown := all[:min(len(all), shownShards)]
	sent, err := h.targets(ctx, shown)
	if err != nil {
		return nil, 0, err
	}
	out := make([]instances.Shard, len(shown))
	for i, s := range shown {
		var a *domain.Attempt
		if its, ok := sent[s.AttemptID]; ok {
			a = &its
		}
		ran := ranOf(i18n.Now(ctx), s, a)
		v := instances.Shard{No: s.Shard, URL: instanceURL(s.ID), Status: status(s.Status), Attempts: s.Attempts, Started: s.StartedAt,
			Elapsed: ran.took, AtLeast: ran.atLeast, Message: i18n.Retell(ctx, s.Message)}
		if at := cmp.Or(ran.target, s.Worker); at != "" {
			v.Target = targetRef(at)
		}
		out[i] = v
	}
	return out, len(all) - len(shown), nil
}

// shards are those of the run in force, those that have not succeeded first.
func (w whole) shards() []domain.Instance {
	all := slices.Clone(w.facts.Shards)
	slices.SortStableFunc(all, func(a, b domain.Instance) int { return cmp.Compare(weight(a), weight(b)) })
	return all
}

// logShard is the shard whose output is shown: the one asked for by its number, else the first that was sent.
func logShard(w whole, asked string) (domain.Instance, error) {
	all := w.shards()
	if asked != "" {
		for _, s := range all {
			if strconv.Itoa(s.Shard) == asked {
				return s, nil
			}
		}
		return domain.Instance{}, domain.Fail(domain.NotFound, "instance %s has no shard %q", w.facts.Instance.ID, asked).At("shard").Coded("http.not_found")
	}
	for _, s := range all {
		if s.Attempts > 0 {
			return s, nil
		}
	}
	if len(all) == 0 { // retention took them
		return w.facts.Instance, nil
	}
	return all[0], nil
}

// shardTabs offers the output of each shard that the page names, and of the one shown.
func shardTabs(w whole, of domain.Instance) []instances.ShardTab {
	all := w.shards()
	var out []instances.ShardTab
	for i, s := range all {
		if i < shownShards || s.ID == of.ID {
			q := url.Values{"tab": {"log"}, "shard": {strconv.Itoa(s.Shard)}}
			out = append(out, instances.ShardTab{No: s.Shard, URL: instanceURL(w.facts.Instance.ID) + "?" + q.Encode(), Status: status(s.Status), Selected: s.ID == of.ID})
		}
	}
	return out
}

// weight orders failed shards before open ones, and these before successes.
func weight(s domain.Instance) int {
	switch {
	case s.State == domain.Success:
		return 2
	case s.State.Terminal():
		return 0
	}
	return 1
}

// shard says of which instance a shard is a part.
type shard struct {
	Instance domain.ID `json:"instance"`
	Index    int       `json:"index"` // from 0
	Total    int       `json:"total"`
}

// shardBrief is one shard of an instance. Its id has a page and an API answer of its own.
type shardBrief struct {
	ID         domain.ID `json:"id"`
	Index      int       `json:"index"`
	State      string    `json:"state"`
	Label      string    `json:"label"`
	Worker     string    `json:"worker"` // the only one that may run it, of a broadcast; else ""
	Target     string    `json:"target"` // where its newest attempt was sent; "": it has none
	Attempts   int       `json:"attempts"`
	StartedAt  stamp     `json:"startedAt"`
	FinishedAt stamp     `json:"finishedAt"`
	Message    string    `json:"message"`
}

// shardBriefs are shards as the API answers them; sent are their newest attempts.
func shardBriefs(shards []domain.Instance, sent map[domain.ID]domain.Attempt) []shardBrief {
	out := make([]shardBrief, len(shards))
	for i, s := range shards {
		out[i] = shardBrief{ID: s.ID, Index: s.Shard, State: string(s.State), Label: string(s.Label), Worker: s.Worker, Target: sent[s.AttemptID].Target, Attempts: s.Attempts,
			StartedAt: stamp(s.StartedAt), FinishedAt: stamp(s.FinishedAt), Message: s.Message}
	}
	return out
}

func shardOf(in domain.Instance) *shard {
	if !in.IsShard() {
		return nil
	}
	return &shard{in.PartOf, in.Shard, in.Shards}
}

// sentAsShards are the steps of an instance that was split, in place of those of one attempt.
func sentAsShards(ctx context.Context, in domain.Instance) []instances.Step {
	return []instances.Step{
		{Mark: "done", Text: i18n.T(ctx, "move.split"), Note: i18n.In(i18n.Lang(ctx), "evidence.shards", "n", in.Shards)},
		{Mark: done(!in.StartedAt.IsZero()), Text: i18n.T(ctx, "step.started"), Note: noted(ctx, in.StartedAt)},
		{Mark: done(in.State == domain.Success), Text: i18n.T(ctx, "step.succeeded"), Note: noted(ctx, in.FinishedAt)},
	}
}
