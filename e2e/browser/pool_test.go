package browser

import (
	"fmt"
	"testing"

	"github.com/axsched/ax/e2e/setup"
)

// A pool is made, three instances want its one place, its page tells who has it and who waits and leads to each, and a higher
// limit lets them go.
func TestAPoolIsMadeWatchedAndWidened(t *testing.T) {
	inChromium(t, setup.Opts{}, func(t *testing.T, l *live, _ *setup.Process) {
		l.asAdmin()
		l.click(`[data-nav=pools]`)
		l.seeText("There are no pools")
		l.click(`a[href="/pools/new"]`)
		l.write("#f-name", "db")
		l.write("#f-limit", "1")
		l.write("#f-title", "Order warehouse <b>")
		l.fits()
		l.click("main form .btn-primary")
		l.seeAt(`\/pools\/default%2Fdb`)
		l.seeText("Nobody waits.")
		l.job("heavy", "version: v1\njob: {name: heavy, pool: db, overlap: allow, exec: {type: shell, command: \"sleep 60\"}, timeout: 90}\n")
		for day := range 3 {
			l.run("heavy", "--biz-date", fmt.Sprintf("2026-02-0%d", day+1))
		}
		const rows = `document.querySelectorAll("#pool-use table")`
		l.see(`document.querySelector("#pool-use .num")?.innerText === "1 of 1" && ` + rows + `.length === 2 && ` + rows + `[1].querySelectorAll("tbody tr").length === 2`)
		l.see(rows + `[0].querySelector("tbody time[datetime]") && [...` + rows + `[1].querySelectorAll("tbody time")].every(t => t.dateTime)`)
		l.fits()
		l.click(`#pool-use a[href$="place=waits"]`)
		l.seeAt(`\/instances\?pool=db&place=waits`)
		l.see(`document.querySelectorAll(".inst-table tbody tr").length === 2 && document.querySelector(".inst-table").innerText.includes("It waits since")`)
		l.see(`document.querySelector(".filters")?.innerText.includes("Wait for a place in pool db")`)
		l.fits()
		l.goTo("/pools/default%2Fdb")
		l.click(`#pool-use a[href$="place=holds"]`)
		l.see(`document.querySelectorAll(".inst-table tbody tr").length === 1`)
		l.goTo("/pools")
		l.see(`document.querySelector("#pools tbody")?.innerText.includes("1 of 1")`)
		l.click(`#pools a`)
		l.write("#f-limit", "0")
		l.click("main form .btn-primary")
		l.see(`document.querySelector("#pool-use .notice")?.innerText.includes("was lowered to 0")`)
		l.write("#f-limit", "3")
		l.click("main form .btn-primary")
		l.see(`document.querySelector("#pool-use .num")?.innerText === "3 of 3"`)
		l.seeText("Nobody waits.")
		l.click(`[data-dialog=delete]`)
		l.click(`dialog[open] .btn-danger`)
		l.see(`document.querySelector("main .notice[data-kind=failed]")?.innerText.includes("heavy")`)
		l.quiet(true)
	})
}
