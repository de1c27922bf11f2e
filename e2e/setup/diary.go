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

// Entry is one line: a start or an end.
type Entry struct {
	Kind    string // start, end
	Job     string
	Trace   string
	Attempt string // ordinal of the attempt
	Expect  string // expected time
	PID     int
	At      time.Time
}

// Command is a shell command that notes its start, does the work and notes its end if the work succeeds.
func (d *Diary) Command(job, work string) string {
	note := func(kind string) string {
		return fmt.Sprintf(`echo %s %s {{trace_id}} {{attempt}} {{expected_time}} $$ $(date +%%s%%3N) >> %s`, kind, job, d.path)
	}
	if work == "" {
		work = "true"
	}
	return note("start") + " && " + work + " && " + note("end")
}

// Entries are all lines so far. A line that is no entry fails the test: it would be a torn append.
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

// Path is the file.
func (d *Diary) Path() string { return d.path }
