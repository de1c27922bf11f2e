package scenarios

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/e2e/setup"
	"github.com/axsched/ax/modules/kit/dbx"
	"github.com/axsched/ax/worker/transport"
)

// What a system under pressure owes to everybody else.
const (
	oldestBeat  = 5 * time.Second
	slowestPage = 2 * time.Second
)

// Five thousand wait for a target when the only worker comes. All end, each once, and meanwhile the worker is heard of,
// the broker keeps its office and pages answer.
func TestManyReadyAtOnceStarveNobody(t *testing.T) {
	t.Parallel()
	setup.Real(t, func(t *testing.T, s *setup.Site) {
		const jobs, fires = 1000, 5
		center := s.Center(t, setup.Opts{})
		c := s.Client(t, center)
		db := tables(t, s.DatabaseURL(center))
		c.Apply(burst(jobs, fires))
		setup.Until(t, awaited, "all are ready", func() bool {
			return db.number("SELECT COUNT(*) FROM instance WHERE label = 'queued'") == jobs*fires
		}, func() string { return center.Tail(10) })
		epoch := db.number("SELECT epoch FROM epoch WHERE name = 'broker'")

		redis, err := transport.Open(t.Context(), s.Redis)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = redis.Close() })
		s.Worker(t, setup.Opts{})
		began := time.Now()
		pages := []string{"/", "/jobs", "/instances", "/workers"}
		for asked := 0; db.number("SELECT EXISTS (SELECT 1 FROM instance WHERE state IN ('running', 'retrying'))") == 1; asked++ {
			if time.Since(began) > awaited {
				t.Fatalf("%d of %d have not ended", db.number("SELECT COUNT(*) FROM instance WHERE state = 'running'"), jobs*fires)
			}
			beats, now, err := transport.Workers(t.Context(), redis)
			if err != nil || len(beats) != 1 {
				t.Fatalf("%d workers are in the registry: %v", len(beats), err)
			}
			if age := now.Sub(time.UnixMilli(beats[0].Stamp)); age > oldestBeat {
				t.Errorf("the worker was last heard of %s ago", age)
			}
			answered(t, c, pages[asked%len(pages)])
		}
		t.Logf("%d ended in %s", jobs*fires, time.Since(began).Round(10*time.Millisecond))
		if now := db.number("SELECT epoch FROM epoch WHERE name = 'broker'"); now != epoch {
			t.Errorf("the broker's epoch went from %d to %d", epoch, now)
		}
		if n := db.number("SELECT COUNT(*) FROM instance WHERE state = 'success' AND attempts = 1 AND finished_at > 0"); n != jobs*fires {
			t.Errorf("%d of %d ended well at the first sending", n, jobs*fires)
		}
		if n := db.number("SELECT COUNT(DISTINCT instance_id) FROM attempt WHERE granted_at > 0 AND state = 'ended'"); n != jobs*fires {
			t.Errorf("%d of %d have an attempt that was granted and ended", n, jobs*fires)
		}
		if n := db.number("SELECT COUNT(*) FROM attempt"); n != jobs*fires {
			t.Errorf("%d attempts for %d instances", n, jobs*fires)
		}
	})
}

// burst is the file of so many jobs that fire in each of some seconds to come, and not again within the year.
func burst(jobs, fires int) string {
	first := time.Now().UTC().Add(6 * time.Second)
	if first.Second()+fires > 60 {
		first = first.Truncate(time.Minute).Add(time.Minute)
	}
	cron := fmt.Sprintf("%d-%d %d %d %d %d *", first.Second(), first.Second()+fires-1, first.Minute(), first.Hour(), first.Day(), first.Month())
	docs := make([]string, jobs)
	for i := range docs {
		docs[i] = fmt.Sprintf("version: v1\njob:\n  name: burst_%04d\n  cron: %q\n  dialect: seconds\n  timezone: UTC\n  overlap: allow\n  misfire: fire_all\n  exec: {type: noop}\n", i, cron)
	}
	return strings.Join(docs, "---\n")
}

// answered asks for a page, which must come in time.
func answered(t *testing.T, c *setup.Client, page string) {
	t.Helper()
	began := time.Now()
	a, err := c.Call(http.MethodGet, page, "", "Accept", "text/html")
	if err != nil || a.Status != http.StatusOK || !strings.Contains(a.Body, "</html>") {
		t.Fatalf("GET %s: %v %d", page, err, a.Status)
	}
	if took := time.Since(began); took > slowestPage {
		t.Errorf("%s took %s", page, took)
	}
}

// inside is a view of a site's tables.
type inside struct {
	t  *testing.T
	db *dbx.DB
}

func tables(t *testing.T, url string) inside {
	t.Helper()
	db, err := dbx.Open(t.Context(), url, dbx.Options{Pool: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return inside{t, db}
}

// number runs a query whose answer is one number.
func (in inside) number(query string) (n int64) {
	in.t.Helper()
	if err := in.db.SQL().QueryRowContext(in.t.Context(), query).Scan(&n); err != nil {
		in.t.Fatalf("%s: %v", query, err)
	}
	return n
}
