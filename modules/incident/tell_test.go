package incident

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/incident/store"
	"github.com/axsched/ax/modules/kit/i18n"
)

func TestChooseHowAGroupIsTold(t *testing.T) {
	for _, c := range []struct {
		owed int64
		told store.Told
		want how
	}{
		{1, store.Told{}, singly}, {20, store.Told{}, singly}, {21, store.Told{}, together}, {5, store.Told{Single: 15}, singly},
		{5, store.Told{Single: 16}, wait}, {2000, store.Told{Single: 20}, together}, {2000, store.Told{Grouped: 1}, wait}, {1, store.Told{Single: 3, Grouped: 1}, wait},
	} {
		if got := choose(c.owed, c.told); got != c.want {
			t.Errorf("%d owed after %+v: %d, want %d", c.owed, c.told, got, c.want)
		}
	}
}

// notices are the bodies of all notices, in the order of making.
func (w *world) notices() []Body {
	w.t.Helper()
	var texts []string
	if err := w.db.Scan(w.t.Context(), &texts, "SELECT body FROM notice ORDER BY id"); err != nil {
		w.t.Fatal(err)
	}
	out := make([]Body, len(texts))
	for i, text := range texts {
		if err := json.Unmarshal([]byte(text), &out[i]); err != nil {
			w.t.Fatal(err)
		}
	}
	return out
}

// messages are what they say.
func (w *world) messages() string {
	out := ""
	for _, b := range w.notices() {
		out += b.Message + "\n"
	}
	return out
}

func (w *world) tells(want string) {
	w.t.Helper()
	if got := w.messages(); got != want {
		w.t.Fatalf("told was\n%swant\n%s", got, want)
	}
}

func TestAnIncidentIsToldOnceAndSoIsItsRecovery(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.begin(deaf{})
		in := w.fail(1)
		w.round()
		opened := "Job failed: pay/job1: exit code 3\n"
		w.tells(opened)
		w.fail(1)
		w.round()
		w.begin(deaf{})
		w.round()
		w.tells(opened)
		w.succeed(1, true)
		w.round()
		w.round()
		w.tells(opened + "Over: Job failed: pay/job1 (2 times) (the job has succeeded)\n")
		all := w.notices()
		list, err := w.store.List(t.Context(), store.Filter{Seen: domain.ProjectSet{All: true}, Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		if b := all[0]; b.Kind != domain.IncidentJobFailed || b.Subject != "pay/job1" || b.Project != "pay" || b.Count != 1 || b.Recovered || b.More != 0 ||
			b.ID == 0 || b.ID == all[1].ID || b.Opened.Sub(in.FinishedAt).Abs() > time.Second || b.URL != "https://ax.example.com/incidents?id="+list[0].ID.String() {
			t.Errorf("%+v", b)
		}
		if !all[1].Recovered || all[1].Count != 2 {
			t.Errorf("%+v", all[1])
		}
	})
}

// A failure that is over before it was told is told all the same, and then its end.
func TestAShortFailureIsTold(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.begin(nil)
		w.fail(1)
		w.succeed(1, true)
		w.round()
		w.round()
		w.want("job_failed pay/job1×1→success")
		w.begin(deaf{})
		w.round()
		w.round()
		w.tells("Job failed: pay/job1: exit code 3\nOver: Job failed: pay/job1 (the job has succeeded)\n")
	})
}

func TestAReminderAfterADayAndNotBefore(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.begin(deaf{})
		w.fail(1)
		w.round()
		past := func(by time.Duration) {
			if _, err := w.db.Exec(t.Context(), "UPDATE incident SET noticed_at = noticed_at - ?", by.Milliseconds()); err != nil {
				t.Fatal(err)
			}
		}
		past(23 * time.Hour)
		w.round()
		past(61 * time.Minute)
		w.round()
		w.round()
		all := w.notices()
		if len(all) != 2 || !all[1].Reminder || all[1].Recovered {
			t.Fatalf("%+v", all)
		}
	})
}

// Who sets up a web-hook after months is not told of what was over long before.
func TestWhatIsLongOverIsNotToldLate(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.fail(1)
		w.fail(2)
		w.round()
		w.succeed(1, true)
		w.round()
		if _, err := w.db.Exec(t.Context(), "UPDATE incident SET resolved_at = resolved_at - ? WHERE slot > 0", (25 * time.Hour).Milliseconds()); err != nil {
			t.Fatal(err)
		}
		w.begin(deaf{})
		w.round()
		w.tells("Job failed: pay/job2: exit code 3\n")
	})
}

// storm lets so many jobs fail for the first time.
func (w *world) storm(first, n int) {
	for i := range n {
		w.happen(w.instance(domain.ID(first+i), failed), domain.MoveFail, failed, "exit code 3")
	}
}

func TestAStormOfTwoThousandJobsIsBoundedNotices(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.begin(deaf{})
		w.storm(1, 3)
		w.round()
		w.storm(4, 1997)
		w.storm(1, 3)
		for range 4 {
			w.round()
		}
		all := w.notices()
		if len(all) != 4 || all[3].More != 1996 || all[3].URL != "https://ax.example.com/incidents?kind=job_failed&project=pay" {
			t.Fatalf("%d notices, the last %+v", len(all), all[len(all)-1])
		}
		if want := "Job failed: pay/job4 and 1,996 more: exit code 3"; all[3].Message != want {
			t.Errorf("%q, want %q", all[3].Message, want)
		}
		for i := range 2000 {
			w.succeed(domain.ID(1+i), true)
		}
		for range 4 {
			w.round()
		}
		if all = w.notices(); len(all) != 5 || !all[4].Recovered || all[4].More != 1999 {
			t.Fatalf("%d notices, the last %+v", len(all), all[len(all)-1])
		}
		w.storm(5000, 1) // within the same minute as the group
		w.round()
		if n := len(w.notices()); n != 5 {
			t.Errorf("%d notices: one more within the minute", n)
		}
		w.agoNotices(tellWithin)
		w.round()
		if n := len(w.notices()); n != 6 {
			t.Errorf("%d notices: what waited is not told after the minute", n)
		}
	})
}

// agoNotices lets all notices have been made so much longer ago.
func (w *world) agoNotices(by time.Duration) {
	w.t.Helper()
	if _, err := w.db.Exec(w.t.Context(), "UPDATE notice SET id = id - ?", int64(domain.IDAt(time.Unix(1_800_000_000, 0).Add(by))-domain.IDAt(time.Unix(1_800_000_000, 0)))); err != nil {
		w.t.Fatal(err)
	}
}

// While nobody takes notices they do not pile up: what comes then is told together.
func TestAReceiverThatIsAwayMakesNoPile(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.begin(deaf{})
		for i := range 12 {
			w.storm(1+i*20, 20)
			w.round()
			w.agoNotices(tellWithin)
		}
		if n := len(w.notices()); n != untakenMost {
			t.Errorf("%d notices wait, want %d", n, untakenMost)
		}
		if _, err := w.db.Exec(t.Context(), "UPDATE notice SET sent_at = ?", domain.Millis(now())); err != nil {
			t.Fatal(err)
		}
		w.round()
		all := w.notices()
		if last := all[len(all)-1]; len(all) != untakenMost+1 || last.More != 139 {
			t.Errorf("%d notices, the last %+v", len(all), last)
		}
	})
}

func TestProjectsAndKindsAreToldApart(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.begin(deaf{})
		w.storm(1, 30)
		w.workers = []domain.Worker{{Name: "w1", State: domain.WorkerGone, Host: "h1", LostAt: now()}}
		w.round()
		w.round()
		if got, want := w.messages(), fmt.Sprintf("Job failed: pay/job1 and 29 more: exit code 3\n%s\n", "Worker lost: w1: It has gone silent. Its host: h1."); got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	})
}

func TestEvidenceOfAnIncidentIsInTheReadersLanguage(t *testing.T) {
	zh := i18n.With(context.Background(), i18n.Chinese)
	for text, want := range map[string]string{"worker w1 (boot 3) has been silent for 10s": "执行节点 w1（第 3 次启动）已有 10 秒没有心跳", "exit code 3: no such file": "exit code 3: no such file", "exit code 3": "退出码 3"} {
		if got := Said(zh, domain.Incident{Kind: domain.IncidentOrphan, Message: text}); got != want {
			t.Errorf("%q is said as %q, want %q", text, got, want)
		}
		if got := Said(context.Background(), domain.Incident{Message: text}); got != text {
			t.Errorf("in English %q", got)
		}
	}
}
