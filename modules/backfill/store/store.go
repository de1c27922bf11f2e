// Package store is the SQL of backfills and their items. Whoever changes one holds the
// lock of its row, which comes before those of instances. It decides nothing.
package store

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/axsched/ax/modules/backfill/plan"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbx"
)

// Store reads and writes the tables backfill and backfill_item.
type Store struct {
	db *dbx.DB
}

// New is a store over the pool.
func New(db *dbx.DB) *Store { return &Store{db} }

// Tx runs fn in a transaction, or in the one that ctx carries.
func (s *Store) Tx(ctx context.Context, fn func(ctx context.Context) error) error {
	return s.db.Tx(ctx, fn)
}

// AfterCommit calls f once the transaction in ctx has committed.
func (s *Store) AfterCommit(ctx context.Context, f func()) { s.db.AfterCommit(ctx, f) }

type row struct {
	ID          int64
	ProjectID   int64
	JobID       int64
	JobName     string
	Reach       string
	Wanted      string
	FirstDate   string
	LastDate    string
	Dates       int
	Degree      int
	NewestFirst bool
	GoesOn      bool
	NotFrom     int
	NotTo       int
	Zone        string
	Params      string
	Reason      string
	Hash        string
	EstimateMs  int64
	State       string
	Pause       string
	PauseBy     string
	Kills       bool
	NWaiting    int
	NRunning    int
	NSuccess    int
	NFailed     int
	NKilled     int
	NLeft       int
	NDropped    int
	CreatedBy   string
	CreatedAt   int64
	ChangedAt   int64
	FinishedAt  int64
	Ver         int64
}

// TableName is gorm's.
func (row) TableName() string { return "backfill" }

func rowOf(b plan.Backfill) row {
	params := ""
	if len(b.Params) > 0 {
		text, err := json.Marshal(b.Params)
		if err != nil {
			panic(err) // a map of strings always encodes
		}
		params = string(text)
	}
	return row{ID: int64(b.ID), ProjectID: int64(b.ProjectID), JobID: int64(b.JobID), JobName: b.JobName, Reach: string(b.Reach), Wanted: string(b.Wanted),
		FirstDate: b.First.String(), LastDate: b.Last.String(), Dates: b.Dates, Degree: b.Degree, NewestFirst: b.NewestFirst, GoesOn: b.GoesOn,
		NotFrom: b.Not.From, NotTo: b.Not.To, Zone: b.Zone, Params: params, Reason: b.Reason, Hash: b.Hash, EstimateMs: b.Estimate.Milliseconds(),
		State: string(b.State), Pause: string(b.Pause), PauseBy: b.PauseBy, Kills: b.Kills, NWaiting: b.Counts.Waiting, NRunning: b.Counts.Running,
		NSuccess: b.Counts.Success, NFailed: b.Counts.Failed, NKilled: b.Counts.Killed, NLeft: b.Counts.Left, NDropped: b.Counts.Dropped, CreatedBy: b.CreatedBy,
		CreatedAt: domain.Millis(b.CreatedAt), ChangedAt: domain.Millis(b.ChangedAt), FinishedAt: domain.Millis(b.FinishedAt), Ver: b.Ver}
}

func (r row) backfill() plan.Backfill {
	first, _ := domain.ParseBizDate(r.FirstDate) // written by us only
	last, _ := domain.ParseBizDate(r.LastDate)
	var params map[string]string
	if r.Params != "" {
		_ = json.Unmarshal([]byte(r.Params), &params) // written by us only
	}
	return plan.Backfill{ID: domain.ID(r.ID), ProjectID: domain.ID(r.ProjectID), JobID: domain.ID(r.JobID), JobName: r.JobName, Reach: plan.Reach(r.Reach),
		Wanted: plan.Wanted(r.Wanted), First: first, Last: last, Dates: r.Dates, Degree: r.Degree, NewestFirst: r.NewestFirst, GoesOn: r.GoesOn,
		Not: plan.Window{From: r.NotFrom, To: r.NotTo}, Zone: r.Zone, Params: params, Reason: r.Reason, Hash: r.Hash,
		Estimate: time.Duration(r.EstimateMs) * time.Millisecond, State: plan.State(r.State), Pause: plan.PauseKind(r.Pause), PauseBy: r.PauseBy, Kills: r.Kills,
		Counts:    plan.Counts{Waiting: r.NWaiting, Running: r.NRunning, Success: r.NSuccess, Failed: r.NFailed, Killed: r.NKilled, Left: r.NLeft, Dropped: r.NDropped},
		CreatedBy: r.CreatedBy, CreatedAt: domain.FromMillis(r.CreatedAt), ChangedAt: domain.FromMillis(r.ChangedAt), FinishedAt: domain.FromMillis(r.FinishedAt), Ver: r.Ver}
}

// Insert writes a backfill with its items.
func (s *Store) Insert(ctx context.Context, b plan.Backfill, items []plan.Item) error {
	r := rowOf(b)
	if err := s.db.Insert(ctx, &r); err != nil {
		return err
	}
	rows := make([]itemRow, len(items))
	for i, it := range items {
		rows[i] = itemRowOf(b.ID, it)
	}
	return s.db.Insert(ctx, &rows)
}

// Lock locks and reads a backfill; NotFound if there is none.
func (s *Store) Lock(ctx context.Context, id domain.ID) (plan.Backfill, error) {
	return s.one(ctx, id, s.db.ForUpdate())
}

// Get reads a backfill; NotFound if there is none.
func (s *Store) Get(ctx context.Context, id domain.ID) (plan.Backfill, error) {
	return s.one(ctx, id, "")
}

func (s *Store) one(ctx context.Context, id domain.ID, lock string) (plan.Backfill, error) {
	var rows []row
	if err := s.db.Scan(ctx, &rows, "SELECT * FROM backfill WHERE id = ?"+lock, id); err != nil {
		return plan.Backfill{}, err
	}
	if len(rows) == 0 {
		return plan.Backfill{}, domain.Fail(domain.NotFound, "there is no backfill %s", id).Coded("backfill.none", "id", id.String())
	}
	return rows[0].backfill(), nil
}

// Save writes what changes of a backfill; Conflict if it moved meanwhile.
func (s *Store) Save(ctx context.Context, b plan.Backfill) error {
	r := rowOf(b)
	n, err := s.db.Exec(ctx, "UPDATE backfill SET state = ?, pause = ?, pause_by = ?, kills = ?, n_waiting = ?, n_running = ?, n_success = ?, n_failed = ?, "+
		"n_killed = ?, n_left = ?, n_dropped = ?, changed_at = ?, finished_at = ?, ver = ver + 1 WHERE id = ? AND ver = ?",
		r.State, r.Pause, r.PauseBy, r.Kills, r.NWaiting, r.NRunning, r.NSuccess, r.NFailed, r.NKilled, r.NLeft, r.NDropped, r.ChangedAt, r.FinishedAt, r.ID, r.Ver)
	if err == nil && n != 1 {
		return domain.Fail(domain.Conflict, "backfill %s changed meanwhile", b.ID)
	}
	return err
}

// Active lists the backfills for which there may be something to do, the oldest first.
func (s *Store) Active(ctx context.Context) ([]domain.ID, error) {
	var ids []domain.ID
	err := s.db.Scan(ctx, &ids, "SELECT id FROM backfill WHERE state IN ('running', 'stopping') OR state = 'paused' AND n_running > 0 ORDER BY id")
	return ids, err
}

// Filter chooses backfills, the newest first; zero fields do not filter.
type Filter struct {
	Seen  domain.ProjectSet // outside of it nothing is found
	Job   domain.ID
	State plan.State
	After domain.ID // the last of the page before
	Limit int
}

// List reads one page.
func (s *Store) List(ctx context.Context, f Filter) ([]plan.Backfill, error) {
	query, args := "SELECT * FROM backfill WHERE id < ?", []any{int64(1<<63 - 1)}
	if f.After != 0 {
		args[0] = f.After
	}
	if !f.Seen.All {
		query, args = query+" AND project_id IN ?", append(args, append([]domain.ID{0}, f.Seen.IDs...))
	}
	if f.Job != 0 {
		query, args = query+" AND job_id = ?", append(args, f.Job)
	}
	if f.State != "" {
		query, args = query+" AND state = ?", append(args, string(f.State))
	}
	var rows []row
	err := s.db.Scan(ctx, &rows, query+" ORDER BY id DESC LIMIT ?", append(args, f.Limit)...)
	out := make([]plan.Backfill, len(rows))
	for i, r := range rows {
		out[i] = r.backfill()
	}
	return out, err
}

// chunk bounds how many numbers one IN list names.
const chunk = 500

func chunks(nos []int) [][]int { return slices.Collect(slices.Chunk(nos, chunk)) }
