package instance_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbx"
	"github.com/axsched/ax/worker/protocol"
)

// TestTextsOfReports stores what tasks say, whatever it is. (J-C20, G-C13)
func TestTextsOfReports(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for name, message := range map[string]string{"1 MB": strings.Repeat("x", 1<<20), "NUL": "a\x00b", "emoji": "日终对账🚀", "not UTF-8": "a\xffb"} {
			in := w.fire(jobA)
			a := w.run(in.ID)
			w.report(a, domain.OutcomeError, message)
			got := w.is(in.ID, failed(domain.ErrorLabel))
			if got.Message == "" || len(got.Message) > protocol.MaxMessage || w.attempt(a.ID).Message != got.Message {
				t.Errorf("%s: the message is %.60q, the attempt's %.60q", name, got.Message, w.attempt(a.ID).Message)
			}
			if name == "emoji" && got.Message != message {
				t.Errorf("%q became %q", message, got.Message)
			}
		}
	})
}

func TestResultsOfReports(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for name, c := range map[string]struct {
			result string
			kept   bool
		}{"good": {`{"rows": 12}`, true}, "no JSON": {`rows=12`, false}, "too large": {`"` + strings.Repeat("x", protocol.MaxResult) + `"`, false}} {
			in := w.fire(jobA)
			a := w.run(in.ID)
			r := reportOf(a, domain.OutcomeSuccess, "", w.now())
			r.Result, r.LogLines = json.RawMessage(c.result), 42
			w.ok(w.life.Apply(t.Context(), []protocol.Uplink{{Worker: "w1", Reports: []protocol.Report{r}}}))
			w.is(in.ID, success)
			got := w.attempt(a.ID)
			if (string(got.Result) == c.result) != c.kept || got.LogLines != 42 {
				t.Errorf("%s: kept %.40q, %d lines", name, got.Result, got.LogLines)
			}
			if name == "too large" && !strings.Contains(got.Message, "over the limit") {
				t.Errorf("nobody is told of a result that was not kept: %q", got.Message)
			}
		}
	})
}

// TestReportThatTheDatabaseRejects blocks none of the others of its batch and is
// applied itself, without its texts.
func TestReportThatTheDatabaseRejects(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		trigger := "CREATE TRIGGER poison BEFORE UPDATE ON attempt FOR EACH ROW WHEN NEW.message LIKE '%poison%' BEGIN SELECT RAISE(ABORT, 'no such thing'); END"
		if w.db.Dialect() == dbx.MySQL {
			trigger = "CREATE TRIGGER poison BEFORE UPDATE ON attempt FOR EACH ROW IF NEW.message LIKE '%poison%' THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no such thing'; END IF"
		}
		_, err := w.db.SQL().ExecContext(t.Context(), trigger)
		w.ok(err)
		var up protocol.Uplink
		var ids []domain.ID
		for _, message := range []string{"fine", "poison", "fine too"} {
			in := w.fire(jobA)
			a := w.run(in.ID)
			ids = append(ids, in.ID)
			up.Worker, up.Reports = a.Target, append(up.Reports, reportOf(a, domain.OutcomeError, message, w.now()))
		}
		w.ok(w.life.Apply(t.Context(), []protocol.Uplink{up}))
		for i, want := range []string{"fine", "", "fine too"} {
			got := w.is(ids[i], failed(domain.ErrorLabel))
			if want == "" && !strings.Contains(got.Message, "was rejected by the database") || want != "" && got.Message != want {
				t.Errorf("report %d: message %q", i, got.Message)
			}
		}
	})
}

// TestStartAndEndInOneBatch applies what piled up while the broker was away.
func TestStartAndEndInOneBatch(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		var ups []protocol.Uplink
		var ids []domain.ID
		for range 50 {
			in := w.fire(jobA)
			a := w.dispatch(in.ID)
			w.grant(a)
			ids = append(ids, in.ID)
			started := protocol.Uplink{Worker: "w1", Started: []protocol.Started{{Attempt: int64(a.ID), At: w.now().UnixMilli()}}}
			ended := protocol.Uplink{Worker: "w1", Reports: []protocol.Report{reportOf(a, domain.OutcomeSuccess, "", w.now())}}
			ups = append(ups, started, ended, ended) // a report may come twice
		}
		w.ok(w.life.Apply(t.Context(), ups))
		w.ok(w.life.Apply(t.Context(), ups))
		for _, id := range ids {
			if got := w.is(id, success); got.StartedAt.IsZero() {
				t.Errorf("instance %s has no start", id)
			}
		}
		if n := len(w.told); n != 3*len(ids) {
			t.Errorf("the tally was told of %d changes, want %d: made, dispatched, succeeded, once each", n, 3*len(ids))
		}
	})
}
