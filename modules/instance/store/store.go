// Package store is the SQL of instances, their runs, attempts and history. Rows
// are locked by primary key in order and re-read before they are changed; every
// change of an instance raises ver. It decides nothing.
package store

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbx"
)

// Store reads and writes the tables instance, job_day, run, attempt, event and log_chunk.
type Store struct {
	db *dbx.DB
}

// New is a store over the pool.
func New(db *dbx.DB) *Store { return &Store{db} }

// Tx runs fn in a transaction, or in the one that ctx carries.
func (s *Store) Tx(ctx context.Context, fn func(ctx context.Context) error) error {
	return s.db.Tx(ctx, fn)
}

// BeforeCommit calls f as the last thing in the transaction in ctx.
func (s *Store) BeforeCommit(ctx context.Context, f func(ctx context.Context) error) error {
	return s.db.BeforeCommit(ctx, f)
}

// AfterCommit calls f once the transaction in ctx has committed.
func (s *Store) AfterCommit(ctx context.Context, f func()) { s.db.AfterCommit(ctx, f) }

type instanceRow struct {
	ID                  int64
	ProjectID           int64
	JobID               int64
	JobName             string
	FireKey             string
	TriggerKind         string
	BizDate             string
	ExpectedAt          int64
	State               string
	Label               string
	Ver                 int64
	RunID               int64
	RunNo               int
	TraceID             string
	Version             int
	Params              string
	RetriesUsed         int
	LostCount           int
	Attempts            int
	RequestedBy         string
	Reason              string
	Lane                string
	DepsLeft            int
	QueueRank           int
	MetAt               int64
	ReadyAt             int64
	WakeAt              int64
	CreatedAt           int64
	StartedAt           int64
	FinishedAt          int64
	AttemptID           int64
	Message             string
	CancelledByInstance int64
	CancelledByRun      int64
	PartOf              int64
	Shard               int
	Shards              int
	Worker              string
	Pool                string
}

// TableName is gorm's.
func (instanceRow) TableName() string { return "instance" }

// backfillRank is how far behind live work of its lane a backfill stands.
const backfillRank = 5

// rankWidth is the room for ranks inside one lane.
const rankWidth = 10

// QueueRank is the order of a ready instance in the queue: lane first, live work
// before backfill. It is never 0.
func QueueRank(in domain.Instance) int {
	rank := (slices.Index(domain.Lanes, in.Lane) + 1) * rankWidth
	if in.Trigger == domain.TriggerBackfill {
		rank += backfillRank
	}
	return rank
}

// stopRank marks what a target must be told to stop.
const stopRank = -1

// rank is what to store: the place in the queue of an instance that waits for a
// target, stopRank, or 0. One that was split is sent nowhere itself.
func rank(in domain.Instance) int {
	if in.IsSplit() {
		return 0
	}
	switch in.Label {
	case domain.Queued:
		return QueueRank(in)
	case domain.Stopping:
		return stopRank
	}
	return 0
}

func toRow(in domain.Instance) instanceRow {
	return instanceRow{
		ID: int64(in.ID), ProjectID: int64(in.ProjectID), JobID: int64(in.JobID), JobName: in.JobName,
		FireKey: in.FireKey, TriggerKind: string(in.Trigger), BizDate: in.BizDate.String(),
		ExpectedAt: domain.Millis(in.Expected), State: string(in.State), Label: string(in.Label), Ver: in.Ver,
		RunID: int64(in.RunID), RunNo: in.RunNo, TraceID: in.TraceID, Version: in.Version, Params: encode(in.Params),
		RetriesUsed: in.RetriesUsed, LostCount: in.LostCount, Attempts: in.Attempts, RequestedBy: in.RequestedBy,
		Reason: in.Reason, Lane: string(in.Lane), DepsLeft: in.DepsLeft, QueueRank: rank(in),
		MetAt: domain.Millis(in.MetAt), ReadyAt: domain.Millis(in.ReadyAt), WakeAt: domain.Millis(in.WakeAt), CreatedAt: domain.Millis(in.CreatedAt),
		StartedAt: domain.Millis(in.StartedAt), FinishedAt: domain.Millis(in.FinishedAt), AttemptID: int64(in.AttemptID),
		Message: in.Message, CancelledByInstance: int64(in.CancelledBy.InstanceID), CancelledByRun: int64(in.CancelledBy.RunID),
		PartOf: int64(in.PartOf), Shard: in.Shard, Shards: in.Shards, Worker: in.Worker, Pool: in.Pool,
	}
}

func (r instanceRow) instance() domain.Instance {
	biz, _ := domain.ParseBizDate(r.BizDate) // written by us only
	return domain.Instance{
		ID: domain.ID(r.ID), ProjectID: domain.ID(r.ProjectID), JobID: domain.ID(r.JobID), JobName: r.JobName,
		FireKey: r.FireKey, Trigger: domain.TriggerKind(r.TriggerKind), BizDate: biz, Expected: domain.FromMillis(r.ExpectedAt),
		Status: domain.Status{State: domain.State(r.State), Label: domain.Label(r.Label)}, Ver: r.Ver,
		RunID: domain.ID(r.RunID), RunNo: r.RunNo, TraceID: r.TraceID, Version: r.Version, Params: decode(r.Params),
		RetriesUsed: r.RetriesUsed, LostCount: r.LostCount, Attempts: r.Attempts, RequestedBy: r.RequestedBy, Reason: r.Reason,
		Lane: domain.Lane(r.Lane), DepsLeft: r.DepsLeft, MetAt: domain.FromMillis(r.MetAt), ReadyAt: domain.FromMillis(r.ReadyAt), WakeAt: domain.FromMillis(r.WakeAt),
		CreatedAt: domain.FromMillis(r.CreatedAt), StartedAt: domain.FromMillis(r.StartedAt), FinishedAt: domain.FromMillis(r.FinishedAt),
		AttemptID: domain.ID(r.AttemptID), Message: r.Message,
		CancelledBy: domain.CancelledBy{InstanceID: domain.ID(r.CancelledByInstance), RunID: domain.ID(r.CancelledByRun)},
		Sharding:    domain.Sharding{PartOf: domain.ID(r.PartOf), Shard: r.Shard, Shards: r.Shards, Worker: r.Worker}, Pool: r.Pool,
	}
}

// columns of an instance in the order of dest.
const columns = "id, project_id, job_id, job_name, fire_key, trigger_kind, biz_date, expected_at, state, label, ver, run_id, run_no, trace_id, version, params, " +
	"retries_used, lost_count, attempts, requested_by, reason, lane, deps_left, queue_rank, met_at, ready_at, wake_at, created_at, started_at, finished_at, " +
	"attempt_id, message, cancelled_by_instance, cancelled_by_run, part_of, shard, shards, worker, pool"

var columnNames = strings.Split(columns, ", ")

// zeroColumns are those whose default is 0 or the empty text.
var zeroColumns = []string{"retries_used", "lost_count", "attempts", "requested_by", "reason", "deps_left", "queue_rank", "met_at", "ready_at", "wake_at",
	"started_at", "finished_at", "attempt_id", "cancelled_by_instance", "cancelled_by_run", "part_of", "shard", "shards", "worker", "pool"}

// values are those of columns.
func (r instanceRow) values() []any {
	return []any{r.ID, r.ProjectID, r.JobID, r.JobName, r.FireKey, r.TriggerKind, r.BizDate, r.ExpectedAt, r.State, r.Label, r.Ver, r.RunID, r.RunNo,
		r.TraceID, r.Version, r.Params, r.RetriesUsed, r.LostCount, r.Attempts, r.RequestedBy, r.Reason, r.Lane, r.DepsLeft, r.QueueRank, r.MetAt,
		r.ReadyAt, r.WakeAt, r.CreatedAt, r.StartedAt, r.FinishedAt, r.AttemptID, r.Message, r.CancelledByInstance, r.CancelledByRun,
		r.PartOf, r.Shard, r.Shards, r.Worker, r.Pool}
}

func (r *instanceRow) dest() []any {
	return []any{&r.ID, &r.ProjectID, &r.JobID, &r.JobName, &r.FireKey, &r.TriggerKind, &r.BizDate, &r.ExpectedAt, &r.State, &r.Label, &r.Ver, &r.RunID, &r.RunNo,
		&r.TraceID, &r.Version, &r.Params, &r.RetriesUsed, &r.LostCount, &r.Attempts, &r.RequestedBy, &r.Reason, &r.Lane, &r.DepsLeft, &r.QueueRank, &r.MetAt,
		&r.ReadyAt, &r.WakeAt, &r.CreatedAt, &r.StartedAt, &r.FinishedAt, &r.AttemptID, &r.Message, &r.CancelledByInstance, &r.CancelledByRun,
		&r.PartOf, &r.Shard, &r.Shards, &r.Worker, &r.Pool}
}

// read runs a SELECT of columns.
func (s *Store) read(ctx context.Context, query string, args ...any) ([]domain.Instance, error) {
	var out []domain.Instance
	err := s.db.Each(ctx, func(scan func(...any) error) error {
		var r instanceRow
		if err := scan(r.dest()...); err != nil {
			return err
		}
		out = append(out, r.instance())
		return nil
	}, query, args...)
	return out, err
}

// encode keeps params as JSON; an empty map is the empty text.
func encode(m map[string]string) string {
	if len(m) == 0 {
		return ""
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic(err) // a map of strings always encodes
	}
	return string(b)
}

func decode(s string) map[string]string {
	if s == "" {
		return nil
	}
	var m map[string]string
	_ = json.Unmarshal([]byte(s), &m) // written by us only
	return m
}

func sortedIDs(ids []domain.ID) []domain.ID {
	out := slices.Clone(ids)
	slices.Sort(out)
	return slices.Compact(out)
}

// IfUnsure calls f when it is not known whether the transaction in ctx was committed.
func (s *Store) IfUnsure(ctx context.Context, f func()) { s.db.IfUnsure(ctx, f) }

// IfUndone calls f when the transaction in ctx was not committed.
func (s *Store) IfUndone(ctx context.Context, f func()) { s.db.IfUndone(ctx, f) }
