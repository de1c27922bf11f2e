package main

import (
	"fmt"
	"strings"
	"time"
)

// jobs are n alike, by name PREFIX_00000 and on.
type jobs struct {
	prefix   string
	kind     string // noop, shell (does nothing) or nap (a shell task of 50 ms)
	lane     string // empty: default
	schedule string // a line of the job file, or several
	other    string // that of every second job; empty: the same
	more     string // further lines
	n        int
}

// execOf is the part of a job file that says what is done.
func execOf(kind string) string {
	switch kind {
	case "shell":
		return "exec: {type: shell, command: \"true\"}"
	case "nap":
		return "exec: {type: shell, command: \"sleep 0.05\"}"
	}
	return "exec: {type: noop}"
}

// yaml is the file of the jobs with numbers from…to-1.
func (j jobs) yaml(from, to int) string {
	docs := make([]string, 0, to-from)
	for i := from; i < to; i++ {
		doc := fmt.Sprintf("version: v1\njob:\n  name: %s_%05d\n  overlap: allow\n  misfire: fire_all\n  timeout: 60\n  enabled: true\n", j.prefix, i)
		schedule := j.schedule
		if i%2 == 1 && j.other != "" {
			schedule = j.other
		}
		if j.lane != "" {
			schedule += "\npriority: " + j.lane
		}
		for line := range strings.Lines(schedule + "\n" + j.more + execOf(j.kind)) {
			doc += "  " + strings.TrimRight(line, "\n") + "\n"
		}
		docs = append(docs, doc)
	}
	return strings.Join(docs, "---\n")
}

// name is what the jobs do, for people.
func (j jobs) name() string {
	text := j.kind
	if j.kind == "nap" {
		text = "shell tasks of 50 ms"
	}
	if j.lane != "" {
		text += " of lane " + j.lane
	}
	return text
}

// like is the pattern of the jobs' names.
func (j jobs) like() string { return j.prefix + "!_%" }

// apply puts the jobs into force over the command line.
func (s *stage) apply(j jobs) { s.c.Apply(j.yaml(0, j.n)) }

// disarm stops the jobs' schedules where they have fired up to a moment, and reports whether all are stopped. It
// writes what a pause of each job would, at once for all. Locks that it meets are the product's at work: false.
func (s *stage) disarm(j jobs, until time.Time) bool {
	of := "job_id IN (SELECT id FROM job WHERE name LIKE ? ESCAPE '!')"
	_, err := s.db.ExecContext(s.ctx, "UPDATE `trigger` SET enabled = 0, next_fire_at = 0, ver = ver + 1 WHERE next_fire_at > ? AND "+of, until.UnixMilli(), j.like())
	if err != nil {
		s.say("stopping the schedules meets %v; again", err)
		return false
	}
	if s.number("SELECT COUNT(*) FROM `trigger` WHERE next_fire_at > 0 AND "+of, j.like()) > 0 {
		return false
	}
	s.exec("UPDATE schedule_span SET to_at = ? WHERE to_at = 0 AND "+of, time.Now().UnixMilli(), j.like())
	s.exec("UPDATE job SET enabled = 0, ver = ver + 1 WHERE enabled = 1 AND name LIKE ? ESCAPE '!'", j.like())
	return true
}
