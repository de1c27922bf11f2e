package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/axsched/ax/modules/domain"
)

// ledger is what is shown of the server's accounts.
type ledger struct {
	Balanced bool      `json:"balanced"`
	Jobs     []account `json:"jobs"`
}

// account is one job's planned fires and what became of them.
type account struct {
	Job       string         `json:"job"`
	Planned   int            `json:"planned"`
	Fired     int            `json:"fired"`
	Skipped   int            `json:"skipped"`
	Missed    int            `json:"missed"`
	Pending   int            `json:"pending"`
	Unplanned int            `json:"unplanned"`
	Balanced  bool           `json:"balanced"`
	Reasons   map[string]int `json:"reasons"`
	Absent    []time.Time    `json:"absent"`
}

func (p *process) ledger() *cobra.Command {
	var job, from, to string
	cmd := &cobra.Command{Use: "ledger [--job J] --from T --to T", Short: "balance planned fires against what became of them",
		Long: `Prints, for each job that had a schedule in force in [from, to): planned = fired + skipped + missed + pending.
Exit 1 when a planned fire is not accounted for.`,
		Args: cobra.NoArgs, RunE: p.do(func(ctx context.Context, _ []string) error {
			if from == "" || to == "" {
				return usage("ledger wants --from and --to")
			}
			first, err := dayOrInstant("--from", from)
			if err != nil {
				return err
			}
			last, err := dayOrInstant("--to", to)
			if err != nil {
				return err
			}
			if !first.Before(last) {
				return usage("--to must be after --from")
			}
			return p.balance(ctx, url.Values{"job": {job}, "from": {first.Format(time.RFC3339Nano)}, "to": {last.Format(time.RFC3339Nano)}})
		})}
	f := cmd.Flags()
	f.StringVar(&job, "job", "", "only of this job, [project/]name")
	f.StringVar(&from, "from", "", "RFC 3339 instant, or a date for its start in UTC; fires at it count")
	f.StringVar(&to, "to", "", "RFC 3339 instant, or a date for its start in UTC; fires at it do not count")
	return cmd
}

// dayOrInstant reads a date too, as its start in UTC.
func dayOrInstant(flag, text string) (time.Time, error) {
	if day, err := domain.ParseBizDate(text); err == nil {
		return day.Start(time.UTC), nil
	}
	return instant(flag, text)
}

func (p *process) balance(ctx context.Context, query url.Values) error {
	c, err := p.connect()
	if err != nil {
		return err
	}
	doc, err := c.Get(ctx, "/api/v1/ledger", query)
	if err != nil {
		return err
	}
	var l ledger
	if err := json.Unmarshal(doc, &l); err != nil {
		return fmt.Errorf("the server's ledger can't be read: %w", err)
	}
	if p.json {
		err = p.document(doc)
	} else {
		err = p.showLedger(l)
	}
	if err != nil || l.Balanced {
		return err
	}
	p.note("ax: the ledger does not balance: a planned fire neither made an instance nor was noted as skipped or missed\n")
	return &failure{code: exitFailed, told: true, err: errors.New("the ledger does not balance")}
}

func (p *process) showLedger(l ledger) error {
	if len(l.Jobs) == 0 {
		p.note("no job had a schedule in force then\n")
		return nil
	}
	rows := make([][]string, len(l.Jobs))
	for i, a := range l.Jobs {
		verdict := "balanced"
		if !a.Balanced {
			verdict = fmt.Sprintf("%d ABSENT", a.Planned-a.Fired-a.Skipped-a.Missed-a.Pending)
		}
		rows[i] = []string{a.Job, strconv.Itoa(a.Planned), strconv.Itoa(a.Fired), strconv.Itoa(a.Skipped), strconv.Itoa(a.Missed), strconv.Itoa(a.Pending), verdict}
	}
	if err := p.table([]string{"JOB", "PLANNED", "FIRED", "SKIPPED", "MISSED", "PENDING", "BALANCE"}, rows); err != nil {
		return err
	}
	for _, a := range l.Jobs {
		for _, reason := range slices.Sorted(maps.Keys(a.Reasons)) {
			if err := p.printf("%s: %d × %s\n", a.Job, a.Reasons[reason], printable(reason)); err != nil {
				return err
			}
		}
		for _, at := range a.Absent {
			if err := p.printf("%s: absent: %s\n", a.Job, p.when(at)); err != nil {
				return err
			}
		}
	}
	return nil
}
