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

// account is one job's planned fires and what became of them.
type account struct {
	ID        string         `json:"id"`
	Job       string         `json:"job"`
	DeletedAt *time.Time     `json:"deletedAt"`
	Planned   int            `json:"planned"`
	Fired     int            `json:"fired"`
	Skipped   int            `json:"skipped"`
	Missed    int            `json:"missed"`
	Pending   int            `json:"pending"`
	Unplanned int            `json:"unplanned"`
	Balanced  bool           `json:"balanced"`
	Reasons   map[string]int `json:"reasons"`
	Absent    []time.Time    `json:"absent"`
	Untaken   bool           `json:"untaken"`
	Refused   string         `json:"refused"`
}

// booking is the flags of ledger.
type booking struct {
	page
	job, from, to, fires string
	unbalanced           bool
}

func (p *process) ledger() *cobra.Command {
	var b booking
	cmd := &cobra.Command{Use: "ledger [--job J] --from T --to T", Short: "balance planned fires against what became of them",
		Long: `Prints, for each job that had a schedule in force in [from, to): planned = fired + skipped + missed + pending.
With --fires it lists one job's planned fires one by one instead.
Exit 1 when a planned fire is not accounted for, or a job could not be judged.`,
		Args: cobra.NoArgs, RunE: p.do(func(ctx context.Context, _ []string) error {
			q, err := b.read()
			if err != nil {
				return err
			}
			if b.fires != "" {
				return p.oneByOne(ctx, q)
			}
			return p.balance(ctx, q)
		})}
	b.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&b.job, "job", "", ofJob)
	f.StringVar(&b.from, "from", "", "RFC 3339 instant, or a date for its start in UTC; fires at it count")
	f.StringVar(&b.to, "to", "", "RFC 3339 instant, or a date for its start in UTC; fires at it do not count")
	f.BoolVar(&b.unbalanced, "unbalanced", false, "only jobs with fires that are not accounted for")
	f.StringVar(&b.fires, "fires", "", "with --job: list its fires in these `states` one by one: fired, skipped, missed, pending, absent or all, with commas between")
	return cmd
}

// read judges the flags and makes the query of them.
func (b *booking) read() (url.Values, error) {
	if b.from == "" || b.to == "" {
		return nil, usage("ledger wants --from and --to")
	}
	first, err := dayOrInstant("--from", b.from)
	if err != nil {
		return nil, err
	}
	last, err := dayOrInstant("--to", b.to)
	if err != nil {
		return nil, err
	}
	if !first.Before(last) {
		return nil, usage("--to must be after --from")
	}
	q, err := b.query()
	if err != nil {
		return nil, err
	}
	q.Set("from", first.Format(time.RFC3339Nano))
	q.Set("to", last.Format(time.RFC3339Nano))
	q.Set("job", b.job)
	switch {
	case b.fires != "" && b.job == "":
		return nil, usage("--fires wants --job")
	case b.fires != "" && b.fires != "all":
		q.Set("state", b.fires)
	}
	if b.unbalanced {
		q.Set("only", "unbalanced")
	}
	return q, nil
}

// dayOrInstant reads a date too, as its start in UTC.
func dayOrInstant(flag, text string) (time.Time, error) {
	if day, err := domain.ParseBizDate(text); err == nil {
		return day.Start(time.UTC), nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, usage("%s %q: write a date such as 2026-02-03, which is its start in UTC, or an RFC 3339 instant such as 2026-02-03T00:00:00+08:00", flag, text)
	}
	return t, nil
}

func (p *process) balance(ctx context.Context, query url.Values) error {
	c, err := p.connect()
	if err != nil {
		return err
	}
	got, err := gather(ctx, c, listing{name: "jobs", path: "ledger", query: query})
	if err != nil {
		return err
	}
	accounts := make([]account, len(got.rows))
	balanced, refused := true, 0
	for i, doc := range got.rows {
		if err := json.Unmarshal(doc, &accounts[i]); err != nil {
			return fmt.Errorf("the server's ledger can't be read: %w", err)
		}
		balanced = balanced && accounts[i].Balanced
		if accounts[i].Refused != "" {
			refused++
		}
	}
	if p.json {
		doc := got.document("jobs")
		doc["balanced"] = balanced
		err = p.value(doc)
	} else {
		p.noteNamesakes(got.namesakes)
		err = p.showLedger(accounts, got.cursor, query.Get("only") != "")
	}
	switch {
	case err != nil || balanced:
		return err
	case refused > 0:
		p.note("ax: %d of the jobs could not be judged\n", refused)
	}
	if slices.ContainsFunc(accounts, func(a account) bool { return len(a.Absent) > 0 }) {
		p.note("ax: the ledger does not balance: a planned fire neither made an instance nor was noted as skipped or missed\n")
	}
	return &failure{code: exitFailed, told: true, err: errors.New("the ledger does not balance")}
}

func (p *process) showLedger(accounts []account, cursor string, unbalanced bool) error {
	if len(accounts) == 0 {
		text := "no job had a schedule in force then\n"
		if unbalanced {
			text = "no job is out of balance then\n"
		}
		p.note("%s", text)
		return nil
	}
	rows := make([][]string, len(accounts))
	for i, a := range accounts {
		if a.DeletedAt != nil {
			accounts[i].Job = former(a.Job, a.ID)
		}
		rows[i] = accounts[i].cells()
	}
	if err := p.table([]string{"JOB", "PLANNED", "FIRED", "SKIPPED", "MISSED", "PENDING", "BALANCE"}, rows); err != nil {
		return err
	}
	for _, a := range accounts {
		if err := p.showReasons(a); err != nil {
			return err
		}
	}
	if cursor != "" {
		p.note("there are more: --cursor %s\n", cursor)
	}
	return nil
}

func (a account) cells() []string {
	verdict := "balanced"
	switch {
	case a.Refused != "":
		return []string{a.Job, "", "", "", "", "", "NOT JUDGED"}
	case !a.Balanced:
		verdict = fmt.Sprintf("%d ABSENT", a.Planned-a.Fired-a.Skipped-a.Missed-a.Pending)
	}
	return []string{a.Job, strconv.Itoa(a.Planned), strconv.Itoa(a.Fired), strconv.Itoa(a.Skipped), strconv.Itoa(a.Missed), strconv.Itoa(a.Pending), verdict}
}

func (p *process) showReasons(a account) error {
	if a.Refused != "" {
		return p.printf("%s: %s\n", a.Job, printable(a.Refused))
	}
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
	switch {
	case len(a.Absent) > 0 && a.Untaken:
		return p.printf("%s: no scheduler has come to the absent ones yet: see whether one runs\n", a.Job)
	case len(a.Absent) > 0:
		return p.printf("%s: a scheduler has passed the absent ones and their instances are gone: start the job by hand for the dates that matter\n", a.Job)
	}
	return nil
}

// oneByOne lists a job's planned fires one by one.
func (p *process) oneByOne(ctx context.Context, query url.Values) error {
	head := []string{"EXPECTED", "BIZ_DATE", "STATE", "REASON", "INSTANCE"}
	return p.list(ctx, listing{name: "fires", path: "ledger/fires", query: query, head: head, cells: func(r row) []string {
		return []string{p.when(r.moment("expected")), r.text("bizDate"), r.text("state"), r.text("reason"), r.text("instance")}
	}})
}
