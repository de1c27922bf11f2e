package sdk

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/worker/protocol"
)

func openTest(t *testing.T, path string, now time.Time) (*journal, []string) {
	t.Helper()
	j, notes, err := openJournal(path, now, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.close() })
	return j, notes
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func anEntry(n int) entry {
	return entry{key: keyOf("trace", fmt.Sprint(n)), state: stateAccepted, at: int64(n), ahead: -5,
		task: protocol.ExternalTask{TraceID: "trace", Attempt: fmt.Sprint(n), Params: map[string]string{"名": "a\nb"}, Exec: json.RawMessage(`{"a":[1]}`)}}
}

func TestTheJournalRemembers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	now := time.UnixMilli(1704045600000)
	j, _ := openTest(t, path, now)
	for n := 1; n <= 4; n++ {
		must(t, j.accepted(anEntry(n)))
	}
	must(t, j.started(anEntry(2), now))
	must(t, j.started(anEntry(3), now))
	must(t, j.ended(anEntry(3), protocol.ExternalOutcome{Success: true, Message: "m", Result: json.RawMessage(`{"rows":1}`)}, now.Add(1)))
	must(t, j.settled(keyOf("trace", "4"), "denied", now))
	must(t, j.close())
	if err := j.accepted(anEntry(5)); err == nil {
		t.Error("a closed journal takes records")
	}
	again, notes := openTest(t, path, now)
	if len(notes) > 0 {
		t.Error(notes)
	}
	open := again.open()
	if len(open) != 3 || open[0].state != stateAccepted || open[1].state != stateStarted || open[2].state != stateEnded {
		t.Fatalf("%+v", open)
	}
	if first := open[0]; first.ahead != -5 || first.task.Params["名"] != "a\nb" || string(first.task.Exec) != `{"a":[1]}` {
		t.Errorf("%+v", first)
	}
	if last := open[2].outcome; !last.Success || last.Message != "m" || string(last.Result) != `{"rows":1}` || open[2].task.Attempt != "3" {
		t.Errorf("%+v", last)
	}
	if !again.knows(keyOf("trace", "4")) || again.knows(keyOf("trace", "5")) {
		t.Error("what was settled is not known, or what never was is")
	}
	must(t, again.close())
	later, _ := openTest(t, path, now.Add(2*time.Hour))
	if later.knows(keyOf("trace", "4")) || !later.knows(keyOf("trace", "1")) {
		t.Error("what is settled and old is kept, or what is open is not")
	}
}

// A crash may leave any beginning of the file: what is read is what had been written by then.
func TestTheJournalCutAnywhere(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "journal")
	now := time.UnixMilli(1704045600000)
	j, _ := openTest(t, path, now)
	must(t, j.accepted(anEntry(1)))
	must(t, j.started(anEntry(1), now))
	must(t, j.ended(anEntry(1), protocol.ExternalOutcome{Success: true}, now))
	must(t, j.settled(anEntry(1).key, "reported", now))
	must(t, j.close())
	whole, err := os.ReadFile(path)
	must(t, err)
	states := []string{"", stateAccepted, stateStarted, stateEnded, stateSettled}
	for n := range len(whole) + 1 {
		cut := filepath.Join(dir, fmt.Sprintf("cut-%d", n))
		must(t, os.WriteFile(cut, whole[:n], 0o600))
		got, notes := openTest(t, cut, now)
		want := states[bytes.Count(whole[:n], []byte("\n"))]
		if state := got.entries[anEntry(1).key].state; state != want {
			t.Errorf("cut at %d: %q, want %q", n, state, want)
		}
		if torn := n > 0 && whole[n-1] != '\n'; torn != (len(notes) == 1) {
			t.Errorf("cut at %d: %q", n, notes)
		}
		must(t, got.close())
	}
}

// Damage inside is told and kept aside; no damaged byte is taken for a record.
func TestTheJournalDamaged(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "journal")
	now := time.UnixMilli(1704045600000)
	j, _ := openTest(t, path, now)
	must(t, j.accepted(anEntry(1)))
	must(t, j.accepted(anEntry(2)))
	must(t, j.close())
	whole, err := os.ReadFile(path)
	must(t, err)
	first := bytes.IndexByte(whole, '\n')
	for n := range first {
		bad := bytes.Clone(whole)
		bad[n] ^= 0x01
		hurt := filepath.Join(dir, fmt.Sprintf("hurt-%d", n))
		must(t, os.WriteFile(hurt, bad, 0o600))
		got, notes := openTest(t, hurt, now)
		if got.knows(anEntry(1).key) || !got.knows(anEntry(2).key) || len(notes) < 2 {
			t.Errorf("byte %d: %v, %q", n, got.entries, notes)
		}
		kept, err := os.ReadFile(fmt.Sprintf("%s.damaged-%d", hurt, now.UnixMilli()))
		if err != nil || !bytes.Equal(kept, bad) {
			t.Errorf("byte %d: the damaged file is not kept: %v", n, err)
		}
		must(t, got.close())
	}
}

func TestTheJournalStaysSmall(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j, _ := openTest(t, path, time.UnixMilli(0))
	must(t, j.accepted(anEntry(1)))
	large := anEntry(2)
	large.task.Params["x"] = strings.Repeat("x", 100_000)
	for n := range 60 {
		large.key, large.at = keyOf("trace", fmt.Sprint(n+2)), int64(n)*time.Hour.Milliseconds()
		must(t, j.accepted(large))
		must(t, j.settled(large.key, "reported", time.UnixMilli(large.at)))
	}
	info, err := os.Stat(path)
	must(t, err)
	if info.Size() > 2*compactMin {
		t.Errorf("%d bytes", info.Size())
	}
	if open := j.open(); len(open) != 1 || open[0].key != anEntry(1).key || len(j.entries) > 20 {
		t.Errorf("%d open, %d known", len(open), len(j.entries))
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
}

// A disk that takes nothing: no task is taken, no grant is acted on; an outcome is reported from memory, and all is well once it takes again.
func TestADiskThatRefuses(t *testing.T) {
	c := newCenter(t)
	config := testConfig(t)
	go1, end := make(chan struct{}), make(chan struct{})
	var e *Executor
	e, url := serve(t, config, quick(), map[string]Handler{"echo": func(_ context.Context, task *Task) (any, error) {
		if task.Attempt == "1" {
			close(go1)
			<-end
		}
		return task.Params, nil
	}})
	send(t, url, c.task(1))
	<-go1
	sick := func(path string) {
		e.journal.mu.Lock()
		defer e.journal.mu.Unlock()
		e.journal.path = path
		_ = e.journal.file.Close()
	}
	good := config.Journal
	sick(filepath.Join(t.TempDir(), "gone", "journal"))
	if status, said := post(t, url, encoded(t, c.task(2)), nil); status != 503 || !strings.Contains(said, "journal") {
		t.Errorf("%d %s", status, said)
	}
	close(end)
	if r := c.report(); !r.Success || r.Attempt != "1" {
		t.Errorf("reported %+v", r)
	}
	e.journal.mu.Lock()
	e.journal.path = good
	e.journal.mu.Unlock()
	if status := send(t, url, c.task(3)); status != http.StatusAccepted {
		t.Errorf("answered %d", status)
	}
	until(t, "the other report", func() bool { return c.count(protocol.CallReport) == 2 })
	until(t, "the settling", func() bool { return len(e.journal.open()) == 0 })
	must(t, e.Close())
	again, notes := openTest(t, good, time.Now())
	if len(notes) > 0 || len(again.open()) > 0 || !again.knows(keyOf("trace-1", "1")) || !again.knows(keyOf("trace-3", "3")) {
		t.Errorf("%q %v", notes, again.entries)
	}
}
