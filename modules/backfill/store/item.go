package store

import (
	"context"
	"slices"
	"strings"

	"github.com/axsched/ax/modules/backfill/plan"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbx"
)

type itemRow struct {
	BackfillID int64
	No         int
	Step       int
	ProjectID  int64
	JobID      int64
	JobName    string
	BizDate    string
	ExpectedAt int64
	FireKey    string
	Act        string
	Why        string
	Was        string
	Version    int
	Waits      bool
	InstanceID int64
	RunNo      int
	State      string
}

// TableName is gorm's.
func (itemRow) TableName() string { return "backfill_item" }

func itemRowOf(backfill domain.ID, it plan.Item) itemRow {
	was := ""
	if it.Was.State != "" {
		was = it.Was.String()
	}
	return itemRow{BackfillID: int64(backfill), No: it.No, Step: it.Step, ProjectID: int64(it.ProjectID), JobID: int64(it.JobID), JobName: it.JobName,
		BizDate: it.BizDate.String(), ExpectedAt: domain.Millis(it.Expected), FireKey: it.FireKey, Act: string(it.Act), Why: string(it.Why), Was: was,
		Version: it.Version, Waits: it.Waits, InstanceID: int64(it.Instance), RunNo: it.RunNo, State: string(it.State)}
}

func (r itemRow) item() plan.Item {
	date, _ := domain.ParseBizDate(r.BizDate) // written by us only
	state, label, _ := strings.Cut(r.Was, "/")
	return plan.Item{No: r.No, Step: r.Step, ProjectID: domain.ID(r.ProjectID), JobID: domain.ID(r.JobID), JobName: r.JobName, BizDate: date,
		Expected: domain.FromMillis(r.ExpectedAt), FireKey: r.FireKey, Act: plan.Act(r.Act), Why: plan.Why(r.Why), Version: r.Version, Waits: r.Waits,
		Instance: domain.ID(r.InstanceID), RunNo: r.RunNo, Was: domain.Status{State: domain.State(state), Label: domain.Label(label)}, State: plan.ItemState(r.State)}
}

// Items reads the items of a backfill that are in the state ("": all) and behind the number,
// in order, at most limit (0: all).
func (s *Store) Items(ctx context.Context, backfill domain.ID, state plan.ItemState, after, limit int) ([]plan.Item, error) {
	query, args := "SELECT * FROM backfill_item WHERE backfill_id = ? AND no > ?", []any{backfill, after}
	if state != "" {
		query, args = query+" AND state = ?", append(args, string(state))
	}
	query += " ORDER BY no"
	if limit > 0 {
		query, args = query+" LIMIT ?", append(args, limit)
	}
	var rows []itemRow
	err := s.db.Scan(ctx, &rows, query, args...)
	out := make([]plan.Item, len(rows))
	for i, r := range rows {
		out[i] = r.item()
	}
	return out, err
}

// Listed reads, of backfills that are not over, the fires of jobs about the dates from the
// first to the last whose turn has not come. Those of one that is stopped are dropped with it.
func (s *Store) Listed(ctx context.Context, jobs []domain.ID, from, to domain.BizDate) (map[domain.ID][]domain.ListedFire, error) {
	out := map[domain.ID][]domain.ListedFire{}
	for part := range slices.Chunk(jobs, chunk) {
		var rows []itemRow
		err := s.db.Scan(ctx, &rows, "SELECT job_id, biz_date, expected_at, fire_key, instance_id, run_no, was FROM backfill_item "+
			"WHERE job_id IN ? AND biz_date >= ? AND biz_date <= ? AND state = ?", part, from.String(), to.String(), string(plan.ItemWaiting))
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			it := r.item()
			out[it.JobID] = append(out[it.JobID], domain.ListedFire{FireKey: it.FireKey, BizDate: it.BizDate, At: it.Expected,
				Instance: it.Instance, RunNo: it.RunNo, Was: it.Was.State})
		}
	}
	return out, nil
}

// SaveItems writes where items stand and which instance and run stand for them; they are
// in order.
func (s *Store) SaveItems(ctx context.Context, backfill domain.ID, items []plan.Item) error {
	if len(items) == 0 {
		return nil
	}
	u := dbx.Update{Table: "backfill_item", Keys: []string{"backfill_id", "no"}, Cols: []string{"instance_id", "run_no", "state"}}
	for _, it := range items {
		u.Rows = append(u.Rows, []any{int64(backfill), it.No, int64(it.Instance), it.RunNo, string(it.State)})
	}
	_, err := s.db.UpdateRows(ctx, u)
	return err
}

// Drop ends what waits, and tells how much that was.
func (s *Store) Drop(ctx context.Context, backfill domain.ID) (int, error) {
	waiting, err := s.Items(ctx, backfill, plan.ItemWaiting, 0, 0)
	if err != nil {
		return 0, err
	}
	nos := make([]int, len(waiting))
	for i, it := range waiting {
		nos[i] = it.No
	}
	for _, part := range chunks(nos) {
		if _, err := s.db.Exec(ctx, "UPDATE backfill_item SET state = ? WHERE backfill_id = ? AND no IN ?", string(plan.ItemDropped), backfill, part); err != nil {
			return 0, err
		}
	}
	return len(nos), nil
}
