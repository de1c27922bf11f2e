package scheduler

import (
	"errors"
	"strconv"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/zone"
	"github.com/axsched/ax/modules/scheduler/cron"
	"github.com/axsched/ax/modules/scheduler/plan"
	"github.com/axsched/ax/modules/scheduler/words"
)

// Times judges schedules before they are saved, with the code that fires them later.
// The zero value is ready; safe for concurrent use.
type Times struct{}

// Check judges a schedule of any kind but none: the dialect understood ("" unless the
// kind is cron) and at most n fires strictly after from. An interval counts from from.
// A refusal that concerns a place in the expression has an Offset.
func (Times) Check(s domain.Schedule, zone *time.Location, from time.Time, n int) (dialect string, next []time.Time, err error) {
	if zone == nil {
		zone = time.UTC
	}
	if s.Kind == domain.ScheduleCron {
		parsed, err := cron.Parse(s.Expr, cron.Dialect(s.Dialect))
		if err != nil {
			return "", nil, placed(err)
		}
		s.Dialect = string(parsed.Dialect())
	}
	times, err := plan.Compile(plan.Timing{Schedule: s, Zone: zone.String(), Rule: domain.BizDateT, Anchor: from}, nil)
	if err != nil {
		return "", nil, placed(err)
	}
	for at := from; len(next) < n; {
		var ok bool
		if at, ok = times.Next(at); !ok {
			break
		}
		next = append(next, at.In(zone))
	}
	return s.Dialect, next, nil
}

// Coming shows the first n fires of a definition strictly after an instant, by a version of its
// calendar (nil: it has none). An interval counts from that instant.
func (Times) Coming(spec domain.JobSpec, calendar *domain.Calendar, from time.Time, n int) ([]domain.Coming, error) {
	span := plan.Span{Timing: plan.Timing{Schedule: spec.Schedule, Zone: spec.Timezone, Rule: spec.BizDate, Gate: plan.GateOf(spec, calendar), Anchor: from}, Calendar: calendar}
	return span.Coming(from, n)
}

// Cautions lists what people may not expect of a schedule.
func (Times) Cautions(s domain.Schedule, zone *time.Location, from time.Time) []domain.Caution {
	return words.Wording{}.Cautions(s, zone, from)
}

// Zone gives the IANA zone of that name, from the embedded data only.
func (Times) Zone(name string) (*time.Location, error) { return zone.Load(name) }

// positioned says where in an expression the fault begins.
type positioned struct{ err *cron.Error }

// Error is the cron error's.
func (p positioned) Error() string { return p.err.Error() }

// Unwrap gives the cron error.
func (p positioned) Unwrap() error { return p.err }

// Say is the same in the words of a catalog.
func (p positioned) Say(say func(key string, args map[string]string) string) string {
	e := p.err
	place := map[string]string{"position": strconv.Itoa(e.Pos + 1)}
	at := "cronat.place"
	if e.Field != "" {
		at, place["field"] = "cronat.field", say("cronfield."+e.Field, nil)
	}
	args := map[string]string{"dialect": string(e.Dialect), "place": say(at, place), "fault": say("cronfault."+e.ID, e.Args)}
	form := "cronat.dialect"
	if e.Dialect == cron.Auto {
		form = "cronat.plain"
	}
	said := say(form, args)
	if e.HintID == "" {
		return said
	}
	return say("cronat.hint", map[string]string{"said": said, "hint": say("cronhint."+e.HintID, e.Args)})
}

// Offset is the byte at which the fault begins, from 0.
func (p positioned) Offset() int { return p.err.Pos }

func placed(err error) error {
	var e *cron.Error
	if errors.As(err, &e) {
		return positioned{e}
	}
	return err
}
