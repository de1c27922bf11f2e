package instance_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbx"
	"github.com/axsched/ax/worker/protocol"
)

// Whatever a report says, it is booked, cut or with a note, beside others that are as they should be. (J-C20, G-C13)
func TestAReportOutOfAllBoundsIsBookedAndHoldsNobodyUp(t *testing.T) {
	code := func(n int) *int { return &n }
	bad := map[string]struct {
		change func(r *protocol.Report)
		want   domain.Status
		note   string
	}{
		"an outcome that is none":    {func(r *protocol.Report) { r.Outcome = strings.Repeat("done", 20) }, failed(domain.ErrorLabel), "unknown and counts as an error"},
		"no outcome":                 {func(r *protocol.Report) { r.Outcome = "" }, failed(domain.ErrorLabel), "unknown and counts as an error"},
		"an exit code that is none":  {func(r *protocol.Report) { r.ExitCode = code(math.MaxInt64) }, success, "the exit code 9223372036854775807 is none"},
		"a start in another century": {func(r *protocol.Report) { r.Started = math.MaxInt64 }, success, "are none"},
		"an end before time":         {func(r *protocol.Report) { r.Finished = math.MinInt64 }, success, "are none"},
		"lines below none":           {func(r *protocol.Report) { r.LogLines = math.MinInt64 }, success, ""},
		"a result that is no JSON":   {func(r *protocol.Report) { r.Result = json.RawMessage("{\xff\x00") }, success, "the result is no JSON"},
		"a result that is too large": {func(r *protocol.Report) {
			r.Result = json.RawMessage(`"` + strings.Repeat("x", protocol.MaxResult) + `"`)
		}, success, "over the limit"},
		"a message that is too long": {func(r *protocol.Report) { r.Message = strings.Repeat("日", 1<<20) }, success, "(cut, 3145728 bytes in all)"},
		"a message that is no text":  {func(r *protocol.Report) { r.Message = "a\x00b\xff\xfe\U0001F680" }, success, `a\0b`},
	}
	each(t, func(t *testing.T, w *world) {
		ids := map[string]domain.ID{}
		var said []protocol.Uplink
		add := func(name string, change func(r *protocol.Report)) {
			in := w.fire(jobA)
			a := w.run(in.ID)
			r := reportOf(a, domain.OutcomeSuccess, "", w.now())
			change(&r)
			ids[name] = in.ID
			said = append(said, protocol.Uplink{Worker: a.Target, Boot: a.Boot, Reports: []protocol.Report{r}})
		}
		add("good", func(*protocol.Report) {})
		for name, c := range bad {
			add(name, c.change)
		}
		add("good too", func(*protocol.Report) {})
		w.ok(w.life.Apply(t.Context(), said))
		w.is(ids["good"], success)
		w.is(ids["good too"], success)
		for name, c := range bad {
			in := w.is(ids[name], c.want)
			if a := w.attempt(in.AttemptID); !strings.Contains(a.Message, c.note) || len(a.Message) > protocol.MaxMessage {
				t.Errorf("%s: the attempt says %.200q, want %q in it", name, a.Message, c.note)
			}
		}
	})
}

// What the database rejects without its texts too is set aside with a note, and all others are booked.
func TestAReportThatIsRejectedIsSetAsideAndHoldsNobodyUp(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		good, bad := w.fire(jobA), w.fire(jobA)
		a, b := w.run(good.ID), w.run(bad.ID)
		trigger := "CREATE TRIGGER no_end BEFORE UPDATE ON instance FOR EACH ROW BEGIN IF NEW.id = " + bad.ID.String() +
			" AND NEW.state = 'success' THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'not this one'; END IF; END"
		if w.db.Dialect() == dbx.SQLite {
			trigger = "CREATE TRIGGER no_end BEFORE UPDATE ON instance WHEN NEW.id = " + bad.ID.String() +
				" AND NEW.state = 'success' BEGIN SELECT RAISE(ABORT, 'not this one'); END"
		}
		if _, err := w.db.SQL().ExecContext(t.Context(), trigger); err != nil {
			t.Fatal(err)
		}
		w.ok(w.life.Apply(t.Context(), []protocol.Uplink{
			{Worker: b.Target, Boot: b.Boot, Reports: []protocol.Report{reportOf(b, domain.OutcomeSuccess, "fine", w.now())}},
			{Worker: a.Target, Boot: a.Boot, Reports: []protocol.Report{reportOf(a, domain.OutcomeSuccess, "fine", w.now())}},
		}))
		w.is(good.ID, success)
		w.is(bad.ID, running(domain.Executing))
		if late := w.attempt(b.ID).Late; !strings.Contains(late, "as success, which the database rejected") || !strings.Contains(late, "not this one") {
			t.Errorf("the attempt has no note of it: %q", late)
		}
	})
}

// What cannot be stopped does not stop for ever. (J-C19, G-C14)
func TestAnEndThatIsNotConfirmedHasALimit(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.fire(jobA)
		a := w.run(in.ID)
		_, err := w.life.Kill(t.Context(), in.ID, "ana", "")
		w.ok(err)
		stopping := w.is(in.ID, running(domain.Stopping))
		if stopping.WakeAt.IsZero() {
			t.Fatal("it stops without a limit")
		}
		w.pass(stopping.WakeAt.Sub(w.now()) - time.Second)
		w.wake(0)
		w.is(in.ID, running(domain.Stopping))
		w.pass(2 * time.Second)
		w.wake(1)
		if in := w.is(in.ID, cancelled(domain.Killed)); !strings.Contains(in.Message, "its end was not confirmed by "+a.Target) {
			t.Errorf("it says %q", in.Message)
		}
		if lost := w.attempt(a.ID); lost.State != domain.AttemptLost || lost.Outcome != domain.OutcomeKilled {
			t.Errorf("the attempt is %s %s: nobody would stop it when its worker names it", lost.State, lost.Outcome)
		}
		w.report(a, domain.OutcomeSuccess, "")
		w.is(in.ID, cancelled(domain.Killed))
	})
}

// One that every target gives back comes to its limit as if none had been asked.
func TestWhatIsGivenBackAgainAndAgainComesToItsLimit(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := shell("a")
		s.QueueTimeoutSec = 60
		w.specs[jobA] = s
		in := w.fire(jobA)
		since := w.get(in.ID).ReadyAt
		for range 5 {
			a := w.dispatch(in.ID)
			w.pass(10 * time.Second)
			taken, err := w.life.Withdraw(t.Context(), []domain.ID{a.ID}, domain.OutcomeNoAck, "no ack")
			w.ok(err)
			if len(taken) != 1 {
				t.Fatal("not taken back")
			}
		}
		b := w.dispatch(in.ID)
		w.grant(b)
		w.pass(9 * time.Second)
		w.report(b, domain.OutcomeRefused, "its clock is off")
		if got := w.is(in.ID, running(domain.Queued)); !got.ReadyAt.Equal(since) || !got.WakeAt.Equal(since.Add(time.Minute)) {
			t.Errorf("ready since %s until %s, was ready at %s", got.ReadyAt, got.WakeAt, since)
		}
		w.pass(2 * time.Second)
		w.wake(1)
		w.is(in.ID, failed(domain.QueueTimeout))
	})
}
