package browser

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/axsched/ax/e2e/setup"
)

const nightly = `version: v1
job: {name: nightly, cron: "0 2 * * *", overlap: allow, exec: {type: shell, command: "sleep 1"}, timeout: 60}
`

// Somebody asks on the page of a job for a week of the past, sees the exact list, confirms its number, watches it, pauses
// and resumes it, and finds nothing missing afterwards.
func TestABackfillIsAskedForSeenAndRun(t *testing.T) {
	inChromium(t, setup.Opts{}, func(t *testing.T, l *live, _ *setup.Process) {
		page := l.job("nightly", nightly)
		l.asAdmin()
		l.goTo(page)
		l.click(`a[href^="/backfills/new?job="]`)
		l.see(`document.querySelector("#f-job")?.value === "nightly"`)
		l.fits()
		l.write("#f-from", "2026-03-07")
		l.eval(`document.querySelector("#f-from").value = "2026-03-07"; document.querySelector("#f-to").value = "2026-03-01"`)
		l.click(`form[action="/backfills/new"] button`)
		l.see(`document.querySelector("#e-to")?.innerText.includes("before the first")`)
		l.quiet(true)
		l.eval(`document.querySelector("#f-from").value = "2026-03-01"; document.querySelector("#f-to").value = "2026-03-07"`)
		l.click(`form[action="/backfills/new"] button`)
		l.see(`document.querySelectorAll(".grid-table tbody tr").length === 7 && document.querySelector("form[action='/backfills'] button")?.innerText.includes("7 runs")`)
		l.fits()
		l.quiet(false)

		// One of the dates is run meanwhile: what was seen is not what would run.
		l.api.Must("backfill", "nightly", "--from", "2026-03-03", "--yes")
		l.click(`form[action='/backfills'] button`)
		l.see(`document.querySelector(".notice[data-kind=attention]")?.innerText.includes("6 runs") && document.querySelector("form[action='/backfills'] button")?.innerText.includes("6 runs")`)
		l.quiet(true)
		l.click(`form[action='/backfills'] button`)
		l.seeAt(`\/backfills\/\d+`)
		l.see(`document.querySelector("progress") && document.querySelector("[data-dialog=pause]")`)
		l.click("[data-dialog=pause]")
		l.see(`document.getElementById("pause").open`)
		l.click("#pause .btn-primary")
		l.see(`document.querySelector("[data-dialog=resume]") && document.body.innerText.includes("Paused by admin")`)
		l.fits()
		l.click("[data-dialog=resume]")
		l.click("#resume .btn-primary")
		l.see(`document.querySelector(".summary-top .st")?.innerText.includes("Done") && document.body.innerText.includes("6 of 6")`)
		l.quiet(false)
		l.click(`[data-nav=backfills]`)
		l.see(`document.querySelectorAll(".grid-table tbody tr").length === 2`)
		l.fits()
	})
}

// A paused job says how many fires lie in the pause before it goes on, and leads to their backfill; what was missed is
// listed date by date.
func TestAPauseTellsWhatLiesInIt(t *testing.T) {
	inChromium(t, setup.Opts{}, func(t *testing.T, l *live, _ *setup.Process) {
		page := l.job("ticks", "version: v1\njob: {name: ticks, every: 1s, overlap: allow, exec: {type: noop}, timeout: 20}\n")
		l.api.AwaitOf("ticks", "success")
		l.api.Must("pause", "ticks")
		paused := time.Now()
		setup.Until(t, time.Minute, "three fires lie in the pause", func() bool { return time.Since(paused) > 4*time.Second }, func() string { return "" })
		l.asAdmin()
		l.goTo(page)
		l.click("[data-dialog=pause]")
		l.see(`document.getElementById("pause").open && /\d+ fires lie in that time/.test(document.getElementById("pause").innerText)`)
		l.click(`#pause a[href^="/backfills/new"]`)
		l.see(`document.querySelectorAll(".grid-table tbody tr").length >= 3 && document.body.innerText.includes("Only fires planned from")`)
		l.quiet(false)
		l.goTo("/missed")
		l.see(`document.querySelector(".empty-state")`)
		l.fits()
		l.quiet(false)
	})
}

// An operator finds a failed job, mends what it lacked, and runs again from there: what was cancelled because of it comes
// back in the same preview, and what has succeeded is left alone.
func TestARerunFromHereTakesWhatDependsOnIt(t *testing.T) {
	inChromium(t, setup.Opts{}, func(t *testing.T, l *live, _ *setup.Process) {
		data := filepath.Join(t.TempDir(), "orders.csv")
		l.api.Apply("version: v1\njob: {name: first, exec: {type: shell, command: cat " + data + "}, timeout: 20}\n" + `---
version: v1
job: {name: left, deps: [{name: first}], trigger: upstream, exec: {type: noop}, timeout: 20}
---
version: v1
job: {name: last, deps: [{name: left}], trigger: upstream, exec: {type: noop}, timeout: 20}
`)
		broken := l.run("first", "--wait", "--biz-date", "2026-02-03")
		if err := os.WriteFile(data, []byte("an order\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		l.asAdmin()
		l.goTo("/dag?biz_date=2026-02-03&node=first")
		l.see(`document.querySelector(".dag-panel a[href^='/backfills/new?']")`)
		l.goTo("/instances/" + broken.ID)
		l.fits()
		l.click(`#instance a[href^="/backfills/new?"]`)
		l.see(`document.querySelectorAll(".grid-table tbody tr").length === 3 && document.querySelector("form[action='/backfills'] button")?.innerText.includes("3 runs")`)
		l.quiet(false)
		l.click(`form[action='/backfills'] button`)
		l.seeAt(`\/backfills\/\d+`)
		l.see(`document.body.innerText.includes("3 of 3")`)
		l.goTo("/instances/" + broken.ID)
		l.see(`document.querySelector(".summary")?.dataset.st === "success"`)
		l.click(`#instance a[href^="/backfills/new?"]`)
		l.see(`document.querySelector("#f-wanted").value === "all" && document.querySelector("form[action='/backfills'] button")?.innerText.includes("3 runs")`)
		l.quiet(false)
	})
}
