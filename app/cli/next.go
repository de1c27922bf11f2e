package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/scheduler"
)

// maxNext bounds -n.
const maxNext = 100_000

// asking is the flags of next.
type asking struct {
	dialect, zone, from string
	n                   int
}

func (p *process) next() *cobra.Command {
	var a asking
	cmd := &cobra.Command{Use: "next [--dialect D] [--tz ZONE] [--from T] [-n 5] -- EXPR", Short: "print when a cron expression fires next, offline",
		Long: `Prints the next fires of a cron expression, one RFC 3339 instant a line with the zone's offset, strictly after
--from, by the code that fires jobs. Exit 1 with the reason when the expression is wrong or never fires. Without
--dialect the fields decide: 5 are unix, 7 quartz, 6 quartz where a day field has ? or an operator L, W, #, else seconds.`,
		Args: cobra.MinimumNArgs(1), RunE: p.do(func(_ context.Context, args []string) error { return p.fires(a, strings.Join(args, " ")) })}
	f := cmd.Flags()
	f.StringVar(&a.dialect, "dialect", "", "unix, seconds or quartz")
	f.StringVar(&a.zone, "tz", "UTC", "an IANA `zone` such as Asia/Shanghai")
	f.StringVar(&a.from, "from", "", "an RFC 3339 instant; else now")
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
	dialect, next, err := scheduler.Times{}.Check(domain.Schedule{Kind: domain.ScheduleCron, Expr: expr, Dialect: a.dialect}, zone, from, a.n)
	if err != nil {
		return err
	}
	if len(next) == 0 {
		return fmt.Errorf("%q (%s) never fires after %s", expr, dialect, from.In(zone).Format(time.RFC3339))
	}
	lines := make([]string, len(next))
	for i, t := range next {
		lines[i] = t.Format(time.RFC3339Nano)
	}
	if p.json {
		return p.value(map[string]any{"dialect": dialect, "timezone": a.zone, "next": lines})
	}
	return p.printf("%s\n", strings.Join(lines, "\n"))
}

// instant reads the RFC 3339 text of a flag.
func instant(flag, text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, usage("%s %q: write an RFC 3339 instant such as 2026-02-03T04:05:06Z or 2026-02-03T12:05:06+08:00", flag, text)
	}
	return t, nil
}
