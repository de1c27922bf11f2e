package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/axsched/ax/app/client"
	"github.com/axsched/ax/modules/domain"
)

func (p *process) release() *cobra.Command {
	var reason string
	cmd := p.one("release", "let an instance go on without the upstream that it still waits for", func(ctx context.Context, c *client.Client, id string) error {
		if strings.TrimSpace(reason) == "" {
			return usage("release wants a --reason, which is kept")
		}
		return p.act(ctx, c, id, "release", reason)
	})
	cmd.Flags().StringVar(&reason, "reason", "", "why; kept in the history and in the audit trail")
	return cmd
}

// showDeps prints what an instance depends on, where it depends on anything.
func (p *process) showDeps(r row) error {
	deps := r.rows("deps")
	if len(deps) == 0 {
		return nil
	}
	rows := make([][]string, len(deps))
	for i, d := range deps {
		dates := d.text("bizDate")
		if to := d.text("bizDateTo"); to != "" && to != dates {
			dates += " … " + to
		}
		rows[i] = []string{d.text("job"), dates, d.text("check"), d.text("require"), d.text("state"), d.text("said")}
	}
	if err := p.printf("\n"); err != nil {
		return err
	}
	if err := p.table([]string{"DEPENDS ON", "BIZ_DATE", "CHECK", "REQUIRE", "STATE", "SAID"}, rows); err != nil {
		return err
	}
	p.noteMissed(deps)
	return nil
}

// noteMissed says beside dependencies which backfill makes the fires that were missed, and no others.
func (p *process) noteMissed(deps []row) {
	for _, d := range deps {
		var dates []string
		var first, last time.Time
		for _, part := range d.rows("missing") {
			at := part.moment("at")
			if part.text("kind") != string(domain.PartMissed) || at.IsZero() {
				continue
			}
			if date := part.text("bizDate"); !slices.Contains(dates, date) {
				dates = append(dates, date)
			}
			if first.IsZero() || at.Before(first) {
				first = at
			}
			if at.After(last) {
				last = at
			}
		}
		if len(dates) > 0 {
			p.note("ax: to run what was missed: ax backfill %s --dates %s --since %s --until %s\n", d.text("job"), strings.Join(dates, ","), exact(first), exact(last))
		}
	}
}

// stale says of an instance that an upstream ran again since it began; "" if none did.
func stale(r row) string {
	m, ok := r["stale"].(map[string]any)
	if !ok {
		return ""
	}
	by := row(m)
	return by.text("job") + " of " + by.text("bizDate") + " ran again and succeeded at " + by.text("at")
}
