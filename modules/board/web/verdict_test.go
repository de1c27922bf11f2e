package web_test

import (
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/e2e/setup/edge"
	"github.com/axsched/ax/modules/domain"
)

// verdict is the first line of the overview.
func (w *world) verdict(lang string) string {
	w.T.Helper()
	p := w.Browser("admin", edge.AdminPassword).Get("/", "Accept-Language", lang).Body
	if n := len(figureNames(p)); n != 5 && !strings.Contains(p, "/jobs/new") {
		w.T.Errorf("there are %d figures", n)
	}
	_, p, _ = strings.Cut(p, `class="verdict"`)
	p, _, _ = strings.Cut(p, "</div>")
	return p
}

// Where nothing can run, or nothing fires, the first line of the overview says so, the worst of it first, before what failed
// today.
func TestTheVerdictSaysThatNothingCanRun(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		says := func(en, zh string) {
			t.Helper()
			for lang, words := range map[string]string{"en": en, "zh-CN": zh} {
				if said := w.verdict(lang); !strings.Contains(said, words) || strings.ContainsAny(said, "⟦⟧{}") {
					t.Errorf("want %q: %s", words, said)
				}
			}
		}
		w.born(1, w.now.Add(-time.Minute))
		says("Nothing has failed today.", "今天没有失败的实例。")
		heard := domain.Worker{Name: "a", State: domain.WorkerAvailable, SeenAt: w.now}
		silent := domain.Worker{Name: "b", State: domain.WorkerAvailable, SeenAt: w.now.Add(-domain.SilentFrom)}
		gone := domain.Worker{Name: "c", State: domain.WorkerGone, LostAt: w.now}
		w.workers = []domain.Worker{heard, silent, gone}
		says("Nothing has failed today.", "今天没有失败的实例。")
		w.workers = []domain.Worker{silent, gone}
		says("No worker is heard: 2 known, 1 lost, the others silent.", "1 个失联，其余没有心跳")
		w.workers = []domain.Worker{gone, gone}
		says("Nothing can run: all 2 workers are lost.", "2 个执行节点全部失联")
		w.workers = nil
		says("Nothing can run: no worker is known.", "没有任何执行节点")
		drains, asked, full, fast := heard, heard, heard, heard
		drains.State, asked.Drain, full.Disk, fast.Skew = domain.WorkerDraining, true, "disk full (no space left on device)", 7*time.Second
		drains.Name, asked.Name, full.Name, fast.Name = "d1", "d2", "d3", "d4"
		w.workers = []domain.Worker{drains, gone}
		says("Nothing new can run: the only worker alive takes no work: d1 drains.", "存活的 1 个执行节点都不接收任务：d1 正在排空。")
		w.workers = []domain.Worker{asked, full, fast}
		says("none of the 3 workers alive takes work: d2 drains; d3 cannot write its journal (disk full (no space left on device)); the clock of d4 is 7 s off.",
			"d2 正在排空；d3 无法写入 journal（磁盘已满（no space left on device））；d4 的时钟偏差 7 秒。")
		w.workers = []domain.Worker{drains, asked, full, fast}
		says("none of the 4 workers alive takes work: d1 drains; d2 drains; d3 cannot", "d3 无法写入 journal（磁盘已满（no space left on device））…")
		w.workers = append(w.workers, heard)
		says("Nothing has failed today.", "今天没有失败的实例。")
		w.untaken = w.now.Add(-5 * time.Minute)
		says("Schedules stand still: fires that are due are taken by no scheduler, the first since 2026-02-03 ", "调度已停滞")
		w.workers = []domain.Worker{gone}
		says("Nothing can run: the only worker is lost. What is due waits until one is back. Schedules stand still", "调度已停滞")
		w.unreached = w.now
		says("for Redis: connection refused.", "Redis：connection refused")
		w.noBroker = true
		says("No broker is active: nothing is sent to workers, and what they report is not recorded until one is. It is part of a process with --mode=center or --mode=broker. Schedules stand still", "没有活动的 broker")
		w.noWrites = "it is read-only"
		says("The database answers and takes no writes: it is read-only.", "不接受写入")
	})
}

// On the first day, when there are no figures yet, that nothing can run is said too.
func TestTheFirstDaySaysThatNothingCanRun(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		if said := w.verdict("en"); said != "" {
			t.Errorf("nothing is wrong, and it says %q", said)
		}
		w.workers = nil
		if said := w.verdict("en"); !strings.Contains(said, "no worker is known") || !strings.Contains(said, `data-kind="attention"`) {
			t.Errorf("it says %q", said)
		}
		w.noBroker = true
		if said := w.verdict("en"); !strings.Contains(said, "No broker is active") || !strings.Contains(said, `data-kind="bad"`) {
			t.Errorf("it says %q", said)
		}
	})
}
