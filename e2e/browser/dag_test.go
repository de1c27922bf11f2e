package browser

import (
	"testing"

	"github.com/axsched/ax/e2e/setup"
)

// A business date is drawn as its instances were, though a job was renamed and another edited since: the page says so, marks what is
// otherwise today, and leads to the instance. (G-D9)
func TestTheGraphOfAPastDateIsAsItWas(t *testing.T) {
	inChromium(t, setup.Opts{}, func(t *testing.T, l *live, _ *setup.Process) {
		l.api.Apply(`version: v1
job: {name: load, exec: {type: noop}, timeout: 20}
---
version: v1
job: {name: clean, title: As it was, deps: [{name: load}], trigger: upstream, exec: {type: noop}, timeout: 20}
---
version: v1
job: {name: report, deps: [{name: clean}], trigger: upstream, exec: {type: noop}, timeout: 20}
`)
		l.run("load", "--wait", "--biz-date", "2026-03-08")
		ran := l.api.AwaitOf("report", "success")
		l.api.Apply(`version: v1
job: {name: scrub, deps: [{name: load}], exec: {type: noop}, timeout: 20}
---
version: v1
job: {name: report, deps: [{name: scrub}], cron: "0 2 * * *", exec: {type: noop}, timeout: 20}
`)
		l.api.Must("delete", "clean")
		l.asAdmin()
		l.goTo("/dag?biz_date=2026-03-08")
		l.see(`document.querySelector(".dag-asof")?.innerText.includes("As it was on 2026-03-08")`)
		l.see(`document.querySelectorAll(".node[data-st=success]").length === 3 && document.querySelectorAll(".edges path").length === 2`)
		l.see(`document.querySelector(".node[data-gone] .name")?.textContent === "As it was" && document.querySelectorAll(".edges path[data-gone]").length === 2`)
		l.click(".dag-asof summary")
		l.see(`document.querySelector(".dag-asof li[data-change=changed]")?.innerText === "report: v1; today v2" && document.querySelector(".dag-asof ul").innerText.includes("clean: v1; deleted since")`)
		l.fits()
		l.click(`.node[href*="node=report"]`)
		l.see(`document.querySelector(".dag-panel a[href='/instances/` + ran.ID + `']")`)
		l.goTo("/dag?biz_date=2026-03-08&view=list")
		l.see(`document.querySelector("td a[href='/instances/` + ran.ID + `']") && document.querySelector("tbody").innerText.includes("v1; deleted since")`)
		l.fits()
		l.quiet(false)
		l.goTo("/dag?biz_date=2099-03-08")
		l.see(`document.querySelector(".dag-asof")?.innerText.includes("has not come yet") && [...document.querySelectorAll(".node title")].some(t => t.textContent.includes("Planned for 2099-03-08"))`)
		l.see(`document.querySelectorAll(".node").length === 3 && !document.querySelector(".node[data-gone]")`)
		l.quiet(false)
	})
}
