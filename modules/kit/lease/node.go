package lease

import (
	"context"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbx"
)

// rest is how long a number that was given up stays unused, on the database's
// clock: longer than centers' clocks may differ.
const rest = time.Minute

// row is a row of the table lease. holder "" = given up; counter below 0 =
// condemned: no longer renewable, its connections are being killed.
type row struct {
	Node        int
	Holder      string
	Name        string
	Counter     int64
	Connections string
	RenewedAt   int64
}

// condemned is the counter of a row whose owner may not renew it any more.
const condemned = -1

// candidate is a number that may be taken; fresh ones have no row yet.
type candidate struct {
	node  int
	fresh bool
}

// candidates lists the numbers that are free at nowMS (Unix milliseconds of the
// database), lowest first.
func candidates(rows []row, nowMS int64) []candidate {
	known := make(map[int]row, len(rows))
	for _, r := range rows {
		known[r.Node] = r
	}
	var out []candidate
	for node := range domain.MaxNode + 1 {
		r, there := known[node]
		if !there {
			out = append(out, candidate{node: node, fresh: true})
		} else if r.Holder == "" && nowMS-r.RenewedAt >= rest.Milliseconds() {
			out = append(out, candidate{node: node})
		}
	}
	return out
}

// claimNode takes the lowest free number for the holder, or reports that none
// is free.
func claimNode(ctx context.Context, db *dbx.DB, holder, name string) (node int, ok bool, err error) {
	now, err := db.Now(ctx)
	if err != nil {
		return 0, false, err
	}
	var rows []row
	if err := db.Scan(ctx, &rows, "SELECT node, holder, renewed_at FROM lease"); err != nil {
		return 0, false, err
	}
	for _, c := range candidates(rows, now.UnixMilli()) {
		ok, err := claim(ctx, db, c, row{Node: c.node, Holder: holder, Name: name})
		if err != nil || ok {
			return c.node, ok, err
		}
	}
	return 0, false, nil
}

func claim(ctx context.Context, db *dbx.DB, c candidate, r row) (bool, error) {
	now := db.NowSQL()
	if c.fresh {
		_, err := db.Exec(ctx, "INSERT INTO lease (node, holder, name, counter, connections, taken_at, renewed_at)"+
			" VALUES (?, ?, ?, 1, '', "+now+", "+now+")", r.Node, r.Holder, r.Name)
		if domain.Is(err, domain.Exists) {
			return false, nil
		}
		return err == nil, err
	}
	n, err := db.Exec(ctx, "UPDATE lease SET holder = ?, name = ?, counter = 1, connections = '', taken_at = "+now+
		", renewed_at = "+now+" WHERE node = ? AND holder = ''", r.Holder, r.Name, r.Node)
	return n == 1, err
}

// giveUp frees a row that is at the counter, if the holder has it still.
func giveUp(ctx context.Context, db *dbx.DB, r row, guard string) (bool, error) {
	n, err := db.Exec(ctx, "UPDATE lease SET holder = '', connections = '', counter = 0, renewed_at = "+db.NowSQL()+
		" WHERE node = ? AND holder = ? AND "+guard, r.Node, r.Holder)
	return n == 1, err
}
