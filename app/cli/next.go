package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/i18n"
	"github.com/axsched/ax/modules/scheduler"
	"github.com/axsched/ax/modules/scheduler/words"
)

// maxNext bounds -n.
const maxNext = 100_000

// asking is the flags of next.
type asking struct {
	dialect, zone, from string
	n                   int
	gate                gating
}

func (p *process) next() *cobra.Command {
	var a asking
	cmd := &cobra.Command{Use: "next [--dialect D] [--tz ZONE] [--from T] [-n 5] -- EXPR", Short: "print when a cron expression fires next, offline",
		Long: `Prints the next fires of a cron expression, one RFC 3339 instant a line with the zone's offset, strictly after
--from, by the code that fires jobs. Before them, on the standard error, the expression as a sentence and what of it people
may not expect, such as months that it passes over. Exit 1 with the reason when it is wrong or never fires. With
--calendar FILE (as for ax calendars apply) only those that the calendar lets happen, moved where --else says so; what it passed
over is told beside. Without --dialect the fields decide: 5 are unix, 7 quartz, 6 quartz where a day field has ? or an operator L, W, #, else seconds.`,
		Args: cobra.MinimumNArgs(1), RunE: p.do(func(_ context.Context, args []string) error { return p.fires(a, strings.Join(args, " ")) })}
	f := cmd.Flags()
	f.StringVar(&a.dialect, "dialect", "", "unix, seconds or quartz")
	f.StringVar(&a.zone, "tz", "UTC", "an IANA `zone` such as Asia/Shanghai")
	f.StringVar(&a.from, "from", "", "an RFC 3339 instant; else now")
	f.StringVar(&a.gate.file, "calendar", "", "a calendar `file` by which the fires are held back")
	f.StringVar(&a.gate.on, "on", string(domain.GateWorkday), "with --calendar: the days on which it fires, workday or restday")
	f.StringVar(&a.gate.otherwise, "else", string(domain.ElseSkip), "with --calendar: what becomes of other days' fires, skip, next or previous")
	f.IntVarP(&a.n, "n", "n", 5, "how many")
	return cmd
}

func (p *process) fires(a asking, expr string) error {
	switch a.dialect {
	case "", "unix", "seconds", "quartz":
	default:
		return usage("--dialect %s: it is unix, seconds or quartz", a.dialect)
	}
	if a.n < 1 || a.n > maxNext {
		return usage("-n %d: it is 1 to %d", a.n, maxNext)
	}
	zone, err := (scheduler.Times{}).Zone(a.zone)
	if err != nil {
		return usage("--tz: %v", err)
	}
	from := p.now()
	if a.from != "" {
		if from, err = instant("--from", a.from); err != nil {
			return err
		}
	}
	s := domain.Schedule{Kind: domain.ScheduleCron, Expr: expr, Dialect: a.dialect}
	dialect, next, err := scheduler.Times{}.Check(s, zone, from, a.n)
	if err != nil {
		return err
	}
	if len(next) == 0 {
		return fmt.Errorf("%q (%s) never fires after %s", expr, dialect, from.In(zone).Format(time.RFC3339))
	}
	s.Dialect = dialect
	var coming []domain.Coming
	if a.gate.file != "" {
		if coming, err = p.gated(&a.gate, s, zone, from, a.n); err != nil {
			return err
		}
		if len(coming) == 0 {
			return fmt.Errorf("the calendar lets none of its fires happen after %s", from.In(zone).Format(time.RFC3339))
		}
		next = nil
		for _, c := range coming {
			next = append(next, c.At)
		}
	}
	lines := make([]string, len(next))
	for i, t := range next {
		lines[i] = t.Format(time.RFC3339Nano)
	}
	sentence, cautions := inWords(s, a.gate.use, zone, from)
	passed := []string{}
	for _, c := range coming {
		passed = append(passed, passedOver(c)...)
	}
	if p.json {
		return p.value(map[string]any{"dialect": dialect, "timezone": a.zone, "next": lines, "words": sentence, "cautions": cautions, "passed": passed})
	}
	p.note("%s (%s, %s)\n", sentence, dialect, a.zone)
	for _, c := range cautions {
		p.note("note: %s\n", c)
	}
	for _, text := range passed {
		p.note("note: %s\n", text)
	}
	return p.printf("%s\n", strings.Join(lines, "\n"))
}

// inWords says a schedule with what a calendar makes of it, and what of it people may not expect.
func inWords(s domain.Schedule, use domain.CalendarUse, zone *time.Location, from time.Time) (sentence string, cautions []string) {
	w := words.Wording{}
	cautions = []string{}
	for _, c := range w.Cautions(s, zone, from) {
		cautions = append(cautions, english("problem.cron."+c.ID, c.Args))
	}
	return w.WithCalendar(i18n.English, w.Sentence(i18n.English, s, zone, from), use), cautions
}

// instant reads the RFC 3339 text of a flag.
func instant(flag, text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, usage("%s %q: write an RFC 3339 instant such as 2026-02-03T04:05:06Z or 2026-02-03T12:05:06+08:00", flag, text)
	}
	return t, nil
}
