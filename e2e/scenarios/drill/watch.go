package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// lookEach is how often the watch looks at the diary and at the tasks' processes; what it knows of a process that
// was killed is as exact.
const lookEach = 100 * time.Millisecond

// life is one task's process as the world outside AX knows it: by the lines that it wrote, and by whether its process
// is there.
type life struct {
	Job, Trace string
	Attempt    int   // ordinal
	Expected   int64 // Unix milliseconds
	PID        int
	Start      time.Time
	End        time.Time // it noted its end: the work succeeded
	Seen       time.Time // its process was seen for the last time; Start if never
	Gone       bool      // its process is no more
	born       string    // the start of the process in the kernel's words, since ids come again

	Again int // further starts that name the same attempt
}

// until is the last moment at which the task was certainly alive.
func (l *life) until() time.Time {
	if l.End.After(l.Seen) {
		return l.End
	}
	return l.Seen
}

// over reports since when the task is certainly no more; zero: it is alive.
func (l *life) over() time.Time {
	if !l.Gone && l.End.IsZero() {
		return time.Time{}
	}
	return l.until().Add(lookEach)
}

// lifeKey names an attempt by what a task knows of itself.
type lifeKey struct {
	trace   string
	attempt int
}

// watch follows the diary. Safe for concurrent use.
type watch struct {
	path string

	mu    sync.Mutex
	lives map[lifeKey]*life
	open  map[lifeKey]*life
	read  int64
	torn  []string // lines that are none
}

func newWatch(path string) *watch {
	return &watch{path: path, lives: map[lifeKey]*life{}, open: map[lifeKey]*life{}}
}

// look reads what was written since the last look, and which of the tasks are alive.
func (w *watch) look(now time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.tail()
	for key, l := range w.open {
		born := bornOf(l.PID)
		if l.born == "" {
			l.born = born
		}
		switch {
		case !l.End.IsZero():
			delete(w.open, key)
		case born == "" || born != l.born:
			l.Gone = true
			delete(w.open, key)
		default:
			l.Seen = now
		}
	}
	return err
}

// tail reads the whole lines that were added.
func (w *watch) tail() error {
	f, err := os.Open(w.path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.NewSectionReader(f, w.read, 1<<40))
	if err != nil {
		return err
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	w.read += int64(len(text))
	for line := range strings.Lines(string(text)) {
		if err := w.note(strings.Fields(line)); err != nil {
			w.torn = append(w.torn, fmt.Sprintf("%q: %v", line, err))
		}
	}
	return nil
}

// note takes one line: kind, job, trace, attempt, expected time, process, Unix milliseconds.
func (w *watch) note(f []string) error {
	if len(f) != 7 {
		return fmt.Errorf("%d words", len(f))
	}
	attempt, err1 := strconv.Atoi(f[3])
	expected, err2 := time.Parse(time.RFC3339, f[4])
	pid, err3 := strconv.Atoi(f[5])
	ms, err4 := strconv.ParseInt(f[6], 10, 64)
	for _, err := range []error{err1, err2, err3, err4} {
		if err != nil {
			return err
		}
	}
	key, at := lifeKey{f[2], attempt}, time.UnixMilli(ms)
	l := w.lives[key]
	switch {
	case f[0] == "start" && l == nil:
		l = &life{Job: f[1], Trace: f[2], Attempt: attempt, Expected: expected.UnixMilli(), PID: pid, Start: at, Seen: at}
		w.lives[key], w.open[key] = l, l
	case f[0] == "start":
		l.Again++
	case f[0] == "end" && l != nil:
		l.End = at
	default:
		return fmt.Errorf("an end without a start")
	}
	return nil
}

// of is what is known of an attempt; nil: it has not begun.
func (w *watch) of(trace string, attempt int) *life {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.lives[lifeKey{trace, attempt}]
	if l == nil {
		return nil
	}
	known := *l
	return &known
}

// all are the lives so far, by their start.
func (w *watch) all() []*life {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make([]*life, 0, len(w.lives))
	for l := range maps.Values(w.lives) {
		known := *l
		out = append(out, &known)
	}
	slices.SortFunc(out, func(a, b *life) int { return a.Start.Compare(b.Start) })
	return out
}

// alive is how many tasks' processes are there.
func (w *watch) alive() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.open)
}

// bornOf is when the kernel started the process, in its own words; "" if it is not there, or a zombie.
func bornOf(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(stat), ") ") // behind the name, which may hold anything
	fields := strings.Fields(rest)
	const state, startTime = 0, 19
	if len(fields) <= startTime || fields[state] == "Z" {
		return ""
	}
	return fields[startTime]
}
