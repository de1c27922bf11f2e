package main

import (
	"database/sql"
	"time"
)

// facts are what AX says at the end, and what the world outside it says. The judge needs nothing else.
type facts struct {
	load      *load
	instances []*instance
	gaps      []gap
	lives     []*life  // by their start
	torn      []string // lines of the diary that are none
	stale     []staleness
	books     []books
	victims   []string // workers that were broken
	begun     time.Time
	healed    time.Time
}

// instance is a row, with its attempts in order.
type instance struct {
	id            int64
	job           string
	expected      int64
	state, label  string
	trace         string
	message       string
	retries, lost int
	made          int64 // when the row was written
	finished      int64
	began         int64 // of the attempt in force; 0: it has not begun
	attempts      []*attempt
}

func (in *instance) status() string {
	if in.label == "" {
		return in.state
	}
	return in.state + "/" + in.label
}

func (in *instance) ended() bool { return in.state != "running" && in.state != "retrying" }

// attempt is a row.
type attempt struct {
	id                         int64
	ordinal                    int
	state, outcome, target     string
	sent, granted, began, over int64
	message                    string
}

// gap is a stretch of planned fires that made no instance.
type gap struct {
	job, kind, reason string
	from, to          int64
	fires             int
}

// staleness is an instance that read "executing" although its task had been gone for too long.
type staleness struct {
	job, trace string
	attempt    int
	gone       time.Duration // how long the task had been gone
}

// books are a job's line of the ledger.
type books struct {
	Job                                      string
	Planned, Fired, Skipped, Missed, Pending int
	Balanced                                 bool
}

// rows reads instances, attempts and gaps of the fires that are judged.
func (s *stage) rows(l *load) (ins []*instance, gaps []gap, err error) {
	byID := map[int64]*instance{}
	from, to := l.from.UnixMilli(), l.to.UnixMilli()
	err = s.each(func(scan func(...any) error) error {
		in := &instance{}
		err := scan(&in.id, &in.job, &in.expected, &in.state, &in.label, &in.trace, &in.message, &in.retries, &in.lost, &in.made, &in.finished, &in.began)
		byID[in.id] = in
		ins = append(ins, in)
		return err
	}, "SELECT id, job_name, expected_at, state, label, trace_id, message, retries_used, lost_count, created_at, finished_at, started_at FROM instance WHERE expected_at >= ? AND expected_at < ?", from, to)
	if err != nil {
		return nil, nil, err
	}
	err = s.each(func(scan func(...any) error) error {
		a, of := &attempt{}, int64(0)
		err := scan(&a.id, &of, &a.ordinal, &a.state, &a.outcome, &a.target, &a.sent, &a.granted, &a.began, &a.over, &a.message)
		if in := byID[of]; in != nil {
			in.attempts = append(in.attempts, a)
		}
		return err
	}, "SELECT id, instance_id, ordinal, state, outcome, target, dispatched_at, granted_at, started_at, finished_at, message FROM attempt ORDER BY id")
	if err != nil {
		return nil, nil, err
	}
	gaps, err = s.gaps(l)
	return ins, gaps, err
}

// gaps reads the planned fires that made no instance.
func (s *stage) gaps(l *load) (out []gap, err error) {
	err = s.each(func(scan func(...any) error) error {
		var g gap
		var job sql.NullString
		err := scan(&job, &g.kind, &g.reason, &g.from, &g.to, &g.fires)
		g.job = job.String
		out = append(out, g)
		return err
	}, "SELECT j.name, g.kind, g.reason, g.from_at, g.to_at, g.fires FROM fire_gap g LEFT JOIN job j ON j.id = g.job_id WHERE g.to_at >= ? AND g.from_at < ?",
		l.from.UnixMilli(), l.to.UnixMilli())
	return out, err
}

// firstStart is when the instance's first attempt that began did so, by the diary where there is one.
func firstStart(in *instance, lives map[lifeKey]*life) int64 {
	if in.state == "success" && len(in.attempts) == 1 && in.began > 0 && lives[lifeKey{in.trace, in.attempts[0].ordinal}] == nil {
		return in.began
	}
	var first int64
	earlier := func(ms int64) {
		if ms > 0 && (first == 0 || ms < first) {
			first = ms
		}
	}
	for _, a := range in.attempts {
		if l := lives[lifeKey{in.trace, a.ordinal}]; l != nil {
			earlier(l.Start.UnixMilli())
			continue
		}
		earlier(a.began)
	}
	if first == 0 {
		earlier(in.began)
	}
	return first
}
