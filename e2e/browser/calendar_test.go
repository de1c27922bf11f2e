package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/axsched/ax/e2e/setup"
)

// Somebody uploads a calendar, sees what it says of the year, and later what a further holiday does to the job
// that lives by it, before it is saved; the job's page then says which day is passed over.
func TestACalendarIsUploadedAndMovesAJob(t *testing.T) {
	inChromium(t, setup.Opts{}, func(t *testing.T, l *live, _ *setup.Process) {
		today := time.Now().UTC()
		day := func(n int) string { return today.AddDate(0, 0, n).Format(time.DateOnly) }
		file := filepath.Join(t.TempDir(), "holidays.csv")
		text := fmt.Sprintf("date,kind,label\n%s,work,Made up <b>\n%s,work,x\n%s,work,x\n%s,work,x\n", day(1), day(2), day(3), day(40))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		l.asAdmin()
		l.click(`[data-nav=calendars]`)
		l.seeAt(`\/calendars`)
		l.click(`a[href="/calendars/new"]`)
		l.see(`document.querySelector("[data-upload]:not([hidden])")`)
		l.do("choose a file", chromedp.SetUploadFiles("#upload", []string{file}))
		l.see(`document.querySelector("#text").value.includes("Made up <b>") && document.querySelector("[data-upload-name]").innerText === "holidays.csv"`)
		l.see(`document.querySelector("#check .problems")?.innerText.includes("give the name of the calendar")`)
		l.write("#f-name", "cn")
		l.see(`document.querySelector("#check .check-sum")?.innerText.includes("A new calendar")`)
		l.fits()
		l.click("form#edit .btn-primary")
		l.seeAt(`\/calendars\/\d+`)
		l.see(`document.querySelectorAll(".cal-month").length === 12 && document.querySelector("time[aria-current=date]")`)
		l.fits()
		l.quiet(false)

		job := l.job("report", "version: v1\njob: {name: report, title: Morning report, cron: \"30 7 * * *\", calendar: cn, exec: {type: noop}, timeout: 20}\n")
		l.goTo(job)
		l.see(`document.querySelector(".fires time")?.innerText.startsWith("` + day(1) + `") || document.querySelector(".fires time")?.innerText.startsWith("` + day(0) + `")`)
		l.click(`[data-nav=calendars]`)
		l.click(`.grid-table a[href^="/calendars/"]`)
		l.see(`document.querySelector(".cal-users")?.innerText.includes("Morning report")`)
		l.click(`a[href$="/edit"]`)
		l.see(`document.querySelector("#text").value.startsWith("version: v1")`)
		l.eval(`(() => { const t = document.querySelector("#text"); t.value = t.value.replace("  workdays:", "  holidays:\n    ` + day(5) + `..` + day(8) + `: Snow\n  workdays:"); t.dispatchEvent(new Event("input", {bubbles: true})); return ""; })()`)
		l.see(`document.querySelector("#check .cal-moved[data-kind=gone]")?.innerText.includes("07:30") && document.querySelector("#check").innerText.includes("Snow")`)
		l.fits()
		l.click("form#edit .btn-primary")
		l.seeAt(`\/calendars\/\d+`)
		l.see(`document.querySelector(".cal-versions")?.innerText.includes("v2")`)
		l.quiet(false)
		l.goTo(job)
		l.see(`[...document.querySelectorAll(".fire-passed")].some(p => p.innerText.includes("Snow"))`)
		l.noSideways()
		l.quiet(false)
	})
}
