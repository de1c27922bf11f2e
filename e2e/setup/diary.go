package setup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Diary is a file to which tasks append outside AX: what really ran, whatever AX believes. Short appends of one
// line reach a file whole.
type Diary struct {
	path string
	t    T
}

// Diary opens a new diary of the site.
func (s *Site) Diary(t T) *Diary {
	t.Helper()
	s.started++
	return &Diary{path: filepath.Join(s.dir, fmt.Sprintf("diary-%d", s.started)), t: t}
}

// Entry is one line: a start, a sign of life or an end.
type Entry struct {
	Kind    string // start, beat, end
	Job     string
	Trace   string
	Attempt string // ordinal of the attempt
	Expect  string // expected time
	PID     int
	At      time.Time
}

// Command is a shell command that notes its start, does the work and notes its end if the work succeeds.
func (d *Diary) Command(job, work string) string {
	if work == "" {
		work = "true"
	}
	return d.note("start", job) + " && " + work + " && " + d.note("end", job)
}

// Beating is a shell command that works for so many tenths of a second and notes each of them, so that the diary
// shows until when one lived that was killed.
func (d *Diary) Beating(job string, tenths int) string {
	return d.Command(job, fmt.Sprintf(`{ i=0; while test $i -lt %d; do sleep 0.1; %s; i=$((i+1)); done; }`, tenths, d.note("beat", job)))
}

// Waiting is a shell command that works until the file is there and notes each tenth of a second of it.
func (d *Diary) Waiting(job, file string) string {
	return d.Command(job, fmt.Sprintf(`{ while ! test -e %s; do sleep 0.1; %s; done; }`, file, d.note("beat", job)))
}

// note appends one line.
func (d *Diary) note(kind, job string) string {
	return fmt.Sprintf(`echo %s %s {{trace_id}} {{attempt}} {{expected_time}} $$ $(date +%%s%%3N) >> %s`, kind, job, d.path)
}

// Entries are all lines so far; one without its end is being written, and a reader may see that at the edge of a page.
// A line that is no entry fails the test: it would be a torn append.
func (d *Diary) Entries() []Entry {
	d.t.Helper()
	text, err := os.ReadFile(d.path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		d.t.Fatalf("%v", err)
	}
	var out []Entry
	for line := range strings.Lines(string(text)) {
		if !strings.HasSuffix(line, "\n") {
			break
		}
		f := strings.Fields(line)
		if len(f) != 7 {
			d.t.Fatalf("a torn line in the diary: %q", line)
		}
		pid, _ := strconv.Atoi(f[5])
		ms, err := strconv.ParseInt(f[6], 10, 64)
		if err != nil {
			d.t.Fatalf("a wrong time in the diary: %q", line)
		}
		out = append(out, Entry{Kind: f[0], Job: f[1], Trace: f[2], Attempt: f[3], Expect: f[4], PID: pid, At: time.UnixMilli(ms)})
	}
	return out
}

// Of are the entries of one kind, for the trace ("" = any).
func (d *Diary) Of(kind, trace string) []Entry {
	d.t.Helper()
	return slices.DeleteFunc(d.Entries(), func(e Entry) bool { return e.Kind != kind || trace != "" && e.Trace != trace })
}

// Life is one process of a task, from its start to the last that it noted.
type Life struct {
	Job, Trace, Attempt string
	PID                 int
	From, To            time.Time
	Ended               bool // it noted its end
}

// Lives are all of them, in the order of their starts.
func (d *Diary) Lives() []Life {
	d.t.Helper()
	at := map[string]int{}
	var out []Life
	for _, e := range d.Entries() {
		key := fmt.Sprint(e.Trace, " ", e.Attempt, " ", e.PID)
		i, known := at[key]
		if !known {
			i = len(out)
			at[key] = i
			out = append(out, Life{Job: e.Job, Trace: e.Trace, Attempt: e.Attempt, PID: e.PID, From: e.At})
		}
		out[i].To, out[i].Ended = e.At, e.Kind == "end"
	}
	slices.SortStableFunc(out, func(a, b Life) int { return a.From.Compare(b.From) })
	return out
}

// Path is the file.
func (d *Diary) Path() string { return d.path }
