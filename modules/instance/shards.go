package instance

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/worker/protocol/crash"
)

// gatherEach is how long the end of a shard may stay unheard of: after it, at the latest,
// an instance that was split looks at its shards again.
const gatherEach = 5 * time.Second

// whole refuses to have a shard done to by itself what is done to its instance.
func whole(in domain.Instance, done string) error {
	if !in.IsShard() {
		return nil
	}
	return domain.Fail(domain.Conflict, "%s is shard %d of %d of instance %s and is not %s by itself", in.ID, in.Shard, in.Shards, in.PartOf, done).
		WithHint("name the instance "+in.PartOf.String()).Coded("error.is_shard", "shard", fmt.Sprint(in.Shard), "shards", fmt.Sprint(in.Shards), "id", in.PartOf.String())
}

// Split opens the shards of ready instances, each of which is ready then. Those that have
// moved since they were read are left alone. What succeeded in the run before is kept:
// see kept.
func (l *Lifecycle) Split(ctx context.Context, splits []domain.Split) error {
	wanted := make(map[domain.ID]domain.Split, len(splits))
	for _, s := range splits {
		wanted[s.Instance.ID] = s
	}
	return l.change(ctx, "broker", slices.Collect(maps.Keys(wanted)), func(ctx context.Context, b *batch, in domain.Instance) error {
		s := wanted[in.ID]
		if in.Ver != s.Instance.Ver || in.Label != domain.Queued || in.IsSplit() || in.IsShard() {
			return nil
		}
		return b.split(ctx, in, s)
	})
}

func (b *batch) split(ctx context.Context, in domain.Instance, s domain.Split) error {
	before, err := b.kept(ctx, in, s.Shards)
	if err != nil {
		return err
	}
	shards := make([]domain.Instance, s.Shards)
	for i := range shards {
		worker := ""
		if s.Workers != nil {
			worker = s.Workers[i]
		}
		shards[i] = b.part(in, domain.Sharding{PartOf: in.ID, Shard: i, Shards: s.Shards, Worker: worker})
		if was, ok := before[partKey(worker, i)]; ok {
			shards[i] = keep(shards[i], was)
		}
		b.changes = append(b.changes, domain.Change{Instance: shards[i]})
	}
	if err := b.l.Store.InsertShards(ctx, shards); err != nil {
		return err
	}
	crash.At("split.inserted")
	in.Shards, in.WakeAt = s.Shards, b.now.Add(gatherEach)
	note := fmt.Sprintf("%d shards", s.Shards)
	if n := keptOf(shards); n > 0 {
		note = fmt.Sprintf("%d shards, %d of them kept from the run before", s.Shards, n)
	}
	_, err = b.move(in, domain.MoveSplit, running(domain.Queued), note)
	return err
}

// keptOf counts the shards that are born ended.
func keptOf(shards []domain.Instance) int {
	n := 0
	for _, s := range shards {
		if s.State.Terminal() {
			n++
		}
	}
	return n
}

// part is a new shard of the instance, ready since the instance is and with its limit: what
// that waited for its turn and its pool counts.
func (b *batch) part(in domain.Instance, s domain.Sharding) domain.Instance {
	return domain.Instance{
		ID: b.l.IDs.Next(), ProjectID: in.ProjectID, JobID: in.JobID, JobName: in.JobName, FireKey: domain.ShardFireKey(in.RunID, s.Shard),
		Trigger: in.Trigger, BizDate: in.BizDate, Expected: in.Expected, Ver: 1, RunID: in.RunID, RunNo: in.RunNo, TraceID: in.TraceID,
		Version: in.Version, RequestedBy: in.RequestedBy, Reason: in.Reason, Lane: in.Lane, MetAt: in.MetAt, CreatedAt: b.now,
		Status: running(domain.Queued), ReadyAt: in.ReadyAt, WakeAt: in.WakeAt, Pool: in.Pool, Sharding: s,
	}
}

// partKey names a shard from run to run: that of a broadcast by its worker.
func partKey(worker string, shard int) string {
	if worker != "" {
		return worker
	}
	return fmt.Sprint(shard)
}

// kept are the shards that did their work in earlier runs, by partKey, back to the last run
// that succeeded or was of another version or other params: what has done its work is not
// done again because another shard failed. A run that ended before it was split, or a
// broadcast's in which the worker was away, takes nothing of it back.
func (b *batch) kept(ctx context.Context, in domain.Instance, n int) (map[string]domain.Instance, error) {
	if in.RunNo == 1 {
		return nil, nil
	}
	runs, err := b.l.Store.Runs(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	out := map[string]domain.Instance{}
	for _, r := range slices.Backward(runs) {
		if r.No >= in.RunNo { // the one in force
			continue
		}
		if r.State == domain.Success || r.Version != in.Version || !maps.Equal(r.Params, in.Params) {
			break
		}
		shards, err := b.l.Store.ShardsOf(ctx, in.JobID, r.ID)
		if err != nil {
			return nil, err
		}
		for _, s := range shards {
			key := partKey(s.Worker, s.Shard)
			if _, later := out[key]; !later && s.State == domain.Success && (s.Worker != "" || s.Shards == n) {
				out[key] = s
			}
		}
		if len(shards) > 0 && shards[0].Worker == "" {
			break // it had taken over what the runs before it did
		}
	}
	return out, nil
}

// keptFrom begins the message of a shard that did its work in an earlier run.
const keptFrom = "kept from run "

// keep is a shard that is born ended as it was in the run before.
func keep(s, was domain.Instance) domain.Instance {
	s.Status, s.StartedAt, s.FinishedAt, s.AttemptID, s.Attempts = was.Status, was.StartedAt, was.FinishedAt, was.AttemptID, was.Attempts
	if s.WakeAt, s.Message = (time.Time{}), was.Message; !strings.HasPrefix(was.Message, keptFrom) {
		s.Message = fmt.Sprintf("%s%d", keptFrom, was.RunNo)
	}
	return s
}

// Gather lets instances that were split stand as their shards do.
func (l *Lifecycle) Gather(ctx context.Context, ids []domain.ID) error {
	return l.change(ctx, "broker", ids, func(ctx context.Context, b *batch, in domain.Instance) error {
		if !in.IsSplit() {
			return nil
		}
		return b.gather(ctx, in)
	})
}

// gather looks at the shards of a locked instance and moves it where they ask for it. A
// shard that moves meanwhile is heard of, or found after gatherEach: the instance ends only
// when all have, and a shard that has ended stays so.
func (b *batch) gather(ctx context.Context, in domain.Instance) error {
	if in.State.Terminal() {
		return nil
	}
	shards, err := b.l.Store.ShardsOf(ctx, in.JobID, in.RunID)
	if err != nil {
		return err
	}
	_, err = b.follow(in, shards)
	return err
}

// follow moves a split instance as its shards ask for.
func (b *batch) follow(in domain.Instance, shards []domain.Instance) (domain.Instance, error) {
	due := !in.WakeAt.After(b.now)
	s := decideShards(in, shards)
	if !s.Started.IsZero() && in.StartedAt.IsZero() && in.Label != domain.Stopping {
		var err error
		if in, err = b.first(in, s.Started); err != nil {
			return in, err
		}
		s = decideShards(in, shards)
	}
	began := earlier(in.StartedAt, s.Started)
	if s.Move == "" && !due && in.StartedAt.Equal(began) {
		return in, nil
	}
	in.StartedAt, in.WakeAt = began, b.now.Add(gatherEach)
	if s.Move == "" {
		b.keep(in)
		return in, nil
	}
	if s.To.State.Terminal() {
		crash.At("gather.ended")
		in.FinishedAt = s.Finished
	}
	if m, _ := domain.MoveOf(s.Move); !slices.Contains(m.From, in.Status) {
		var err error // its shards were there, unseen, on the way
		if in, err = b.move(in, domain.MoveGather, running(via(s.Move)), ""); err != nil {
			return in, err
		}
	}
	return b.move(in, s.Move, s.To, s.Note)
}

// earlier is the earlier of two moments that have come; zero: none has. A shard that is tried
// again forgets when it was started first, and its instance does not.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// first makes the start of the first shard that of the instance, once.
func (b *batch) first(in domain.Instance, started time.Time) (domain.Instance, error) {
	if in.Label != domain.Dispatched {
		var err error
		if in, err = b.move(in, domain.MoveGather, running(domain.Dispatched), ""); err != nil {
			return in, err
		}
	}
	in.StartedAt, in.WakeAt = started, b.now.Add(gatherEach)
	return b.move(in, domain.MoveStart, running(domain.Executing), "")
}

// via is the label from which each move leads on that a split instance may make.
func via(m domain.MoveName) domain.Label {
	if m == domain.MoveQueueTimeout {
		return domain.Queued
	}
	return domain.Executing
}

// killShards asks for the end of all shards of an instance, which ends when they have.
func (b *batch) killShards(ctx context.Context, in domain.Instance, reason string) (domain.Instance, error) {
	shards, err := b.l.Store.ShardsOf(ctx, in.JobID, in.RunID)
	if err != nil {
		return in, err
	}
	ids := make([]domain.ID, 0, len(shards))
	for _, s := range shards {
		if !s.State.Terminal() {
			ids = append(ids, s.ID)
		}
	}
	locked, err := b.lock(ctx, ids)
	if err != nil {
		return in, err
	}
	if err := b.readInForce(ctx, locked); err != nil {
		return in, err
	}
	for i, s := range shards {
		now, ok := locked[s.ID]
		if !ok {
			continue
		}
		if !now.State.Terminal() && now.Label != domain.Stopping {
			if now, err = b.kill(ctx, now, reason); err != nil {
				return in, err
			}
		}
		shards[i] = now
	}
	if in, err = b.stopOrder(in, reason); err != nil {
		return in, err
	}
	return b.follow(in, shards)
}

// readInForce reads the attempts in force of locked instances at once.
func (b *batch) readInForce(ctx context.Context, locked map[domain.ID]domain.Instance) error {
	var ids []domain.ID
	for _, in := range locked {
		if in.AttemptID != 0 {
			ids = append(ids, in.AttemptID)
		}
	}
	_, err := b.read(ctx, ids)
	return err
}

// stopOrder notes that the end of a split instance was asked for.
func (b *batch) stopOrder(in domain.Instance, reason string) (domain.Instance, error) {
	if m, _ := domain.MoveOf(domain.MoveStop); !slices.Contains(m.From, in.Status) {
		var err error
		if in, err = b.move(in, domain.MoveGather, running(domain.Executing), ""); err != nil {
			return in, err
		}
	}
	return b.move(in, domain.MoveStop, running(domain.Stopping), b.killNote(reason))
}

// shardsNow is how an instance is to stand by its shards. Move "" = as it does.
type shardsNow struct {
	Move              domain.MoveName
	To                domain.Status
	Note              string
	Started, Finished time.Time // of the first that started in this run, of the last of these that ended
}

// decideShards decides how a split instance stands by its shards. It ends when all have: as a
// success if all succeeded, else cancelled if one was killed, else failed as the first shard
// that failed. Until then the most advanced of those that have not ended counts. A shard whose row
// is missing has not ended.
func decideShards(in domain.Instance, shards []domain.Instance) shardsNow {
	var out shardsNow
	for _, s := range shards {
		if !s.StartedAt.IsZero() && s.StartedAt.Before(s.CreatedAt) {
			continue // kept from an earlier run
		}
		if !s.StartedAt.IsZero() && (out.Started.IsZero() || s.StartedAt.Before(out.Started)) {
			out.Started = s.StartedAt
		}
		if s.FinishedAt.After(out.Finished) {
			out.Finished = s.FinishedAt
		}
	}
	open := len(shards) < in.Shards || slices.ContainsFunc(shards, func(s domain.Instance) bool { return !s.State.Terminal() })
	switch {
	case open && in.Label == domain.Stopping:
	case open:
		if out.To = mostAdvanced(shards); out.To != in.Status {
			out.Move = domain.MoveGather
		}
	default:
		out.Move, out.To, out.Note = shardsEnd(in, shards)
	}
	return out
}

// mostAdvanced is the status of the shard that is the furthest of those that have not ended.
func mostAdvanced(shards []domain.Instance) domain.Status {
	order := []domain.Status{running(domain.Executing), running(domain.Dispatched), running(domain.Queued), running(domain.HeldPool), {State: domain.Retrying, Label: domain.Backoff}, running(domain.Orphan)}
	best := len(order) - 1
	for _, s := range shards {
		at := slices.Index(order, s.Status)
		if s.Label == domain.Stopping {
			at = 0
		}
		if at >= 0 && at < best {
			best = at
		}
	}
	return order[best]
}

// shardsEnd is the end of an instance all of whose shards have ended.
func shardsEnd(in domain.Instance, shards []domain.Instance) (domain.MoveName, domain.Status, string) {
	var first *domain.Instance
	bad, stopped := 0, false
	for i, s := range shards {
		if s.State == domain.Success {
			continue
		}
		stopped = stopped || s.State == domain.Cancelled
		if bad++; first == nil {
			first = &shards[i]
		}
	}
	switch {
	case first == nil:
		return domain.MoveSucceed, domain.Status{State: domain.Success}, ""
	case stopped || in.Label == domain.Stopping:
		return domain.MoveKill, killed, fmt.Sprintf("killed; %d of %d shards had succeeded", len(shards)-bad, len(shards))
	}
	move := domain.MoveFail
	if first.Label == domain.QueueTimeout {
		move = domain.MoveQueueTimeout
	}
	return move, first.Status, fmt.Sprintf("%d of %d shards failed; shard %d: %s", bad, len(shards), first.Shard, first.Message)
}
