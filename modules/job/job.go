// Package job owns what a job file means: reading it, judging it, and the graph of
// dependencies between jobs. It turns text into domain.JobSpec or into problems that name the
// file, line and column, say what is wrong and how to mend it.
//
// It refuses whatever is not built, exactly like an unknown key, and never guesses: a file is
// taken whole or not at all. The root package is rules only: no database, no HTTP, no clock
// (the moment comes in Options). store/ keeps the definitions, web/ shows them, template/ fills
// in the values at dispatch. It knows no other module: what it needs from the scheduler stands
// in ports.go.
package job

import (
	"cmp"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/job/template"
)

// The limits of a job file.
const (
	// MaxFileBytes is the most that one file may hold.
	MaxFileBytes = 4 << 20
	// MaxDocuments is the most jobs that one file may hold.
	MaxDocuments = 2000
	// MaxValueBytes bounds params and env together, names and values counted in bytes.
	MaxValueBytes = template.MaxValueBytes
	// MaxNameRunes bounds the name of a project, a job, a topic or a tag, in characters.
	MaxNameRunes = 100
)

// Options is what reading a file depends on besides its text.
type Options struct {
	// File is the name that problems carry.
	File string
	// DefaultProject is the project of jobs that name none; "" is domain.DefaultProject.
	DefaultProject string
	// DefaultZone is the IANA zone of jobs that name none; "" is UTC.
	DefaultZone string
	// DefaultBizDate is the rule of jobs that give none; "" is T.
	DefaultBizDate domain.BizDateRule
	// Now is the moment from which a schedule must still fire.
	Now time.Time
	// Schedules judges cron expressions and zones. It is required.
	Schedules Schedules
}

// Parsed is one job of a file.
type Parsed struct {
	Spec domain.JobSpec
	// Text is this job's document as it was written, without the --- around it and with \n for
	// line ends.
	Text string
	// Line is where Text begins in the file, from 1.
	Line int
	// Next holds the next fires after Options.Now, at most five; none where a calendar decides that
	// is not at hand.
	Next []time.Time
	// Coming is the same fires with what a calendar makes of them; known once it was judged against
	// the calendars that are there.
	Coming []domain.Coming
	// Warnings is what this job's document is warned about.
	Warnings Problems

	file   string
	lines  []string
	places map[string]Place
	// secrets are where the job names secrets.
	secrets []template.SecretUse
	// results are where it reads results of its upstreams.
	results []template.ResultUse
}

// Place is a position in a file: line and column from 1, the column in characters.
type Place struct{ Line, Column int }

// At gives the position of the value at a path like "job.deps[0].name"; where that path is not
// in the file, the position of the nearest thing around it.
func (p Parsed) At(path string) Place {
	for ; path != ""; path = parent(path) {
		if at, ok := p.places[path]; ok {
			return at
		}
	}
	return Place{Line: max(p.Line, 1), Column: 1}
}

// problem makes a problem about this job's file.
func (p Parsed) problem(path, id, hint string, args map[string]string) Problem {
	at := p.At(path)
	return Problem{File: p.file, Path: path, Line: at.Line, Column: at.Column,
		ID: id, Hint: hint, Args: args, Source: lineOf(p.lines, at.Line)}
}

func (o Options) filled() Options {
	o.DefaultProject = cmp.Or(o.DefaultProject, domain.DefaultProject)
	o.DefaultZone = cmp.Or(o.DefaultZone, "UTC")
	o.DefaultBizDate = cmp.Or(o.DefaultBizDate, domain.BizDateT)
	return o
}
