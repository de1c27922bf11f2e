package cli

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// shownRuns is how many runs of a list a person is shown. What is left alone is told in sums.
const shownRuns = 1000

// previewed shows what would run, and starts that when a person says so.
func (p *process) previewed(ctx context.Context, body askedBackfill, yes bool) error {
	c, err := p.connect()
	if err != nil {
		return err
	}
	doc, err := c.Large().Send(ctx, http.MethodPost, "/api/v1/backfills/preview", body)
	if err != nil {
		return err
	}
	v, err := decode(doc)
	if err != nil {
		return err
	}
	if p.json && !yes {
		return p.document(doc)
	}
	if !p.json {
		if err := p.showPreview(body, v); err != nil {
			return err
		}
	}
	runs := v.text("runs")
	if runs == "0" {
		p.note("ax: there is nothing to do\n")
		if p.json {
			return p.document(doc)
		}
		return nil
	}
	if !yes {
		if err := p.confirm(runs); err != nil {
			return err
		}
	}
	body.Hash = v.text("hash")
	if doc, err = c.Large().Send(ctx, http.MethodPost, "/api/v1/backfills", body); err != nil {
		return err
	}
	if p.json {
		return p.document(doc)
	}
	made, err := decode(doc)
	if err != nil {
		return err
	}
	return p.printf("backfill %s started: %s runs\n", made.text("id"), made.text("runs"))
}

// confirm asks the person at the terminal.
func (p *process) confirm(runs string) error {
	in, ok := p.in.(*os.File)
	if ok {
		info, err := in.Stat()
		ok = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	if !ok {
		return usage("nothing was started: --yes starts these %s runs", runs)
	}
	p.note("Start these %s runs? Type yes: ", runs)
	line, _ := bufio.NewReader(p.in).ReadString('\n')
	if strings.TrimSpace(line) != "yes" {
		p.note("ax: nothing was started\n")
		return &failure{code: exitFailed, told: true, err: fmt.Errorf("nothing was started")}
	}
	return nil
}

// showPreview shows what a backfill would do.
func (p *process) showPreview(body askedBackfill, v row) error {
	if err := p.showItems(v.rows("items")); err != nil {
		return err
	}
	if body.Since+body.Until != "" {
		p.note("of these dates only what was planned %s\n", p.between(body.Since, body.Until))
	}
	if not := v.text("notBetween"); not != "" {
		p.note("nothing begins between %s by the clock of %s, the zone of the project\n", not, v.text("zone"))
	}
	for _, e := range v.rows("effects") {
		text := map[string]string{"back": "comes back when %s succeeds", "stale": "becomes stale: it ran on %s"}[e.text("kind")]
		p.note("%s %s %s\n", e.text("job"), e.text("bizDate"), fmt.Sprintf(text, e.text("because")))
	}
	if n := v.text("moreEffects"); n != "0" && n != "" {
		p.note("and %s more such effects\n", n)
	}
	for _, w := range v.rows("warnings") {
		p.note("warning: %s\n", printable(w.text("text")))
	}
	about := ""
	if ms, _ := strconv.ParseInt(v.text("estimateMs"), 10, 64); ms > 0 {
		about = ", about " + (time.Duration(ms) * time.Millisecond).Round(time.Second).String() + " by what they took before"
	}
	return p.printf("%s on %s: %s to make, %s to run again (%s of them succeeded), %s left alone; %s at a time%s\n",
		counted(number(v, "runs"), "run"), counted(number(v, "dates"), "business date"), v.text("make"), v.text("again"), v.text("forced"), v.text("leave"), v.text("degree"), about)
}

// between says the moments that narrow a list; one of them may be "".
func (p *process) between(since, until string) string {
	var parts []string
	moments := row{"since": since, "until": until}
	if at := moments.moment("since"); !at.IsZero() {
		parts = append(parts, "from "+p.when(at))
	}
	if at := moments.moment("until"); !at.IsZero() {
		parts = append(parts, "up to "+p.when(at))
	}
	return strings.Join(parts, " ")
}

// showItems lists what runs, each, and sums up what is left alone.
func (p *process) showItems(items []row) error {
	var runs [][]string
	more := 0
	var left leaving
	for _, it := range items {
		switch {
		case it.text("act") == "leave":
			left.add(it)
		case len(runs) == shownRuns:
			more++
		default:
			runs = append(runs, []string{it.text("step"), it.text("job"), it.text("bizDate"), p.when(it.moment("expected")), it.text("act"), it.text("said", "why"), it.text("was"), it.text("version")})
		}
	}
	if len(runs) > 0 {
		if err := p.table([]string{"STEP", "JOB", "BIZ_DATE", "EXPECTED", "DOES", "WHY", "IS", "VERSION"}, runs); err != nil {
			return err
		}
	}
	if more > 0 {
		p.note("and %d more: --json lists all\n", more)
	}
	if len(left.sums) == 0 {
		return nil
	}
	if len(runs) > 0 {
		if err := p.printf("\n"); err != nil {
			return err
		}
	}
	return p.table([]string{"LEFT ALONE", "JOB", "FROM", "TO", "WHY"}, left.rows())
}

// leaving sums up items that are left alone, by job and reason.
type leaving struct {
	sums []leftSum
	at   map[[2]string]int
}

type leftSum struct {
	job, why, from, to string
	n                  int
}

func (l *leaving) add(it row) {
	key := [2]string{it.text("job"), it.text("said", "why")}
	date := it.text("bizDate")
	if l.at == nil {
		l.at = map[[2]string]int{}
	}
	i, there := l.at[key]
	if !there {
		i = len(l.sums)
		l.at[key], l.sums = i, append(l.sums, leftSum{job: key[0], why: key[1], from: date, to: date})
	}
	s := &l.sums[i]
	s.n++
	s.from, s.to = min(s.from, date), max(s.to, date) // the newest date may come first
}

func (l *leaving) rows() [][]string {
	out := make([][]string, len(l.sums))
	for i, s := range l.sums {
		out[i] = []string{strconv.Itoa(s.n), s.job, s.from, s.to, s.why}
	}
	return out
}
