package dbx_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/axsched/ax/modules/kit/dbx"
)

// A batch does what one update a row would, whatever is equal or different among
// its keys, guards and values.
func TestUpdateRowsIsOneUpdateARow(t *testing.T) {
	each(t, func(t *testing.T, db *dbx.DB) {
		ctx := t.Context()
		for _, table := range []string{"batch", "single"} {
			if _, err := db.Exec(ctx, "CREATE TABLE "+table+" (a INT NOT NULL, b INT NOT NULL, guard INT NOT NULL, x INT, y VARCHAR(20) NOT NULL, ver INT NOT NULL, PRIMARY KEY (a, b))"); err != nil {
				t.Fatal(err)
			}
			for i := range 30 {
				if _, err := db.Exec(ctx, "INSERT INTO "+table+" VALUES (?, ?, ?, 0, '', 0)", i/3, i%3, i%2); err != nil {
					t.Fatal(err)
				}
			}
		}
		rnd := rand.New(rand.NewPCG(1, 1))
		for round := range 40 {
			u := dbx.Update{Table: "batch", Keys: []string{"a", "b", "guard"}, Cols: []string{"x", "y"}, Extra: "ver = ver + 1"}
			var single int64
			for i := range 30 {
				if rnd.IntN(3) > 0 {
					continue
				}
				var x any = rnd.IntN(2)
				if rnd.IntN(5) == 0 {
					x = nil
				}
				row := []any{i / 3, i % 3, rnd.IntN(2), x, fmt.Sprint("y", rnd.IntN(1+round%3))}
				u.Rows = append(u.Rows, row)
				n, err := db.Exec(ctx, "UPDATE single SET x = ?, y = ?, ver = ver + 1 WHERE a = ? AND b = ? AND guard = ?", row[3], row[4], row[0], row[1], row[2])
				if err != nil {
					t.Fatal(err)
				}
				single += n
			}
			if len(u.Rows) == 0 {
				continue
			}
			n, err := db.UpdateRows(ctx, u)
			if err != nil || n != single {
				t.Fatalf("round %d: %d rows changed, want %d: %v", round, n, single, err)
			}
			var diff int
			if err := db.Scan(ctx, &diff, "SELECT COUNT(*) FROM batch p JOIN single s ON s.a = p.a AND s.b = p.b WHERE p.ver <> s.ver OR p.y <> s.y OR COALESCE(p.x, -1) <> COALESCE(s.x, -1)"); err != nil || diff != 0 {
				t.Fatalf("round %d: %d rows differ: %v", round, diff, err)
			}
		}
	})
}
