package browser

import (
	"testing"

	"github.com/axsched/ax/e2e/setup"
)

// Somebody says by the form alone: each working day at 07:30, about the working day before, after that day's sync;
// and finds it so in the text, and in the form again.
func TestEachWorkingDayAfterTheSyncIsSaidByTheForm(t *testing.T) {
	inChromium(t, setup.Opts{}, func(t *testing.T, l *live, _ *setup.Process) {
		l.job("sync", "version: v1\njob: {name: sync, cron: \"0 1 * * *\", exec: {type: noop}, timeout: 20}\n")
		l.holidays()
		l.asAdmin()
		l.goTo("/jobs/new")
		l.write("#f-name", "report")
		l.click(choice("daily"))
		l.eval(`(() => { const t = document.querySelector("#f-time"); t.value = "07:30"; t.dispatchEvent(new Event("input", {bubbles: true})); return ""; })()`)
		l.write("#f-calendar", "cn")
		l.write("#f-biz_date", "prev_workday")
		l.write("#f-deps", "sync prev_workday")
		l.write("#f-command", "true")
		l.write("#f-timeout", "100")
		l.see(`document.querySelector("#check .schedule-words")?.innerText.includes("on working days of cn only") && document.querySelector("#check .check-sum[data-kind=good]")`)
		l.fits()
		l.click(".page-actions .btn-primary")
		l.seeAt(`\/jobs\/\d+`)
		page := l.where()
		l.goTo(page + "?tab=yaml")
		for _, line := range []string{`cron: "30 7 * * *"`, "calendar: cn", "biz_date: prev_workday", "- name: sync"} {
			l.seeText(line)
		}
		l.goTo(page + "/edit")
		l.see(`document.querySelector("#f-deps")?.value === "sync prev_workday" && document.querySelector("#f-biz_date").value === "prev_workday"`)
		l.noSideways()
		l.quiet(false)
	})
}
