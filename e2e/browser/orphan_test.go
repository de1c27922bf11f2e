package browser

import (
	"testing"

	"github.com/axsched/ax/e2e/setup"
)

const holding = `version: v1
job: {name: pays, on_worker_lost: hold, overlap: allow, exec: {type: shell, command: "sleep 300"}, timeout: 600}
`

// The process dies while three tasks run. Whoever opens the list sees what is known, settles one on its own page and two in
// the list, and sees in the ledger that nothing is absent.
func TestOrphansAreSettled(t *testing.T) {
	inChromium(t, setup.Opts{}, func(t *testing.T, l *live, process *setup.Process) {
		l.job("pays", holding)
		var ids []string
		for range 3 {
			ids = append(ids, l.run("pays").ID)
		}
		for _, id := range ids {
			l.api.Await(id, "running/executing")
		}
		process.Kill()
		process.Restart()
		for _, id := range ids {
			l.api.Await(id, "running/orphan")
		}
		l.asAdmin()
		l.click(`[data-nav=orphans]`)
		l.seeAt(`\/orphans`)
		l.see(`document.querySelectorAll("input[name=pick]").length === 3`)
		l.fits()
		l.quiet(false)

		l.goTo("/instances/" + ids[0])
		l.click("[data-dialog=settle]")
		l.see(`document.getElementById("settle").open`)
		l.click("#settle input[value=success]")
		l.write("#settle-reason", "the bank has it")
		l.click("#settle .btn-primary")
		l.see(`document.querySelector(".summary")?.dataset.st === "success" && document.body.innerText.includes("the bank has it")`)
		l.quiet(false)

		l.goTo("/orphans")
		l.see(`document.querySelectorAll("input[name=pick]").length === 2 && !document.querySelector("[data-pick-all]").hidden`)
		l.click("[data-pick-all]")
		l.api.Must("settle", ids[1], "--as", "failed", "--reason", "somebody else was faster")
		l.click("[data-dialog=settle]")
		l.see(`document.getElementById("settle").open && document.querySelector("[data-picked]").innerText === "2"`)
		l.click("#settle input[value=failed]")
		l.click("#settle .btn-primary")
		l.see(`document.querySelector("#settle .notice[data-kind=failed]") && document.getElementById("settle").open && document.querySelectorAll("input[name=pick]:checked").length === 1`)
		l.quiet(true)
		l.write("#settle-reason", "no trace of it")
		l.click("#settle .btn-primary")
		l.see(`document.querySelector(".notice[data-kind=good]")?.innerText.includes("1 orphan was settled") && document.querySelector(".empty-state")`)
		l.quiet(false)
		for i, want := range []string{"success", "failed/worker_lost", "failed/worker_lost"} {
			if got := l.api.Instance(ids[i]); got.Status() != want {
				t.Errorf("orphan %d is %s", i, got.Status())
			}
		}
	})
}

// The ledger is opened from the navigation, narrowed to a job, and says each fire that made no run, with its reason.
func TestTheLedgerIsRead(t *testing.T) {
	inChromium(t, setup.Opts{}, func(t *testing.T, l *live, _ *setup.Process) {
		l.job("beats", "version: v1\njob: {name: beats, every: 1s, overlap: skip, exec: {type: shell, command: sleep 300}, timeout: 400}\n")
		l.job("rests", "version: v1\njob: {name: rests, cron: \"0 0 * * *\", exec: {type: noop}, timeout: 20}\n")
		l.api.AwaitOf("beats", "cancelled/skipped")
		l.asAdmin()
		l.click(`[data-nav=ledger]`)
		l.seeAt(`\/ledger`)
		l.see(`document.querySelectorAll(".ledger-table tbody tr").length > 0 && document.querySelectorAll(".ledger-good").length > 0 && document.querySelectorAll(".ledger-absent").length === 0`)
		l.see(`document.querySelector(".ledger-reasons")?.innerText.includes("an earlier instance was unfinished")`)
		l.fits()
		l.click(".ledger-table tbody tr:first-child td.cell-main a")
		l.see(`location.search.includes("job=") && document.querySelectorAll(".tabs a").length === 4 && document.querySelectorAll(".grid-table").length === 2`)
		l.see(`document.querySelector(".grid-table a[href^='/instances/']")`)
		l.fits()
		l.click(`.state-chip[href*="range=yesterday"]`)
		l.see(`location.search.includes("range=yesterday") && location.search.includes("job=") && document.querySelector(".state-chip.on")`)
		l.goTo("/ledger?only=unbalanced")
		l.see(`document.querySelector(".empty-state")`)
		l.quiet(false)
	})
}
