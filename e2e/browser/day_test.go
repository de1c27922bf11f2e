package browser

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/axsched/ax/e2e/setup"
)

// holidays makes a calendar that knows this year and the next, and gives the path of its page.
func (l *live) holidays() (path, day string) {
	l.t.Helper()
	year := time.Now().UTC().Year()
	body := fmt.Sprintf(`{"text":"version: v1\ncalendar:\n  name: cn\n  years: [%d, %d]\n"}`, year, year+1)
	if a, err := l.api.Call("POST", "/api/v1/calendars", body); err != nil || a.Status != 200 {
		l.t.Fatalf("%v %d %s", err, a.Status, a.Body)
	}
	var one struct{ ID string }
	if err := l.api.Get("/api/v1/calendars/cn", &one); err != nil {
		l.t.Fatal(err)
	}
	return "/calendars/" + one.ID, fmt.Sprintf("%d-03-10", year+1)
}

// Somebody walks over the days of a year with the keyboard, makes one a holiday, sees before what that does to a job, and gives it
// back to the weekly rule; one that was overtaken is told so.
func TestADayOfACalendarIsChangedByKeyboard(t *testing.T) {
	inChromium(t, setup.Opts{}, func(t *testing.T, l *live, _ *setup.Process) {
		calendar, day := l.holidays()
		l.job("report", "version: v1\njob: {name: report, title: Morning report, cron: \"30 7 * * *\", calendar: cn, exec: {type: noop}, timeout: 20}\n")
		l.asAdmin()
		l.goTo(calendar + "?year=" + day[:4])
		l.see(`document.querySelectorAll("a.cal-open[tabindex='0']").length === 1`)
		l.eval(`(document.querySelector("a.cal-open[tabindex='0']").focus(), "")`)
		key := func(keys ...string) {
			t.Helper()
			for _, k := range keys {
				l.do("press "+k, chromedp.KeyEvent(k))
			}
		}
		const down, right, home, enter, escape = "\u0301", "\u0303", "\u0307", "\r", "\u001b" // as chromedp's table has them
		key(home)
		l.see(`document.activeElement.id === "d-` + day[:4] + `-01-01"`)
		for range 9 { // 63 days, and five more: the 69th of the year
			key(down)
		}
		for range 5 {
			key(right)
		}
		l.see(`document.activeElement.id === "d-` + day + `"`)
		key(enter)
		l.see(`document.querySelector("dialog#day[open] #day-t")?.innerText.includes("` + day + `")`)
		key(escape)
		l.see(`!document.querySelector("dialog[open]") && document.activeElement.id === "d-` + day + `"`)
		key(enter)
		l.click(`dialog[open] input[value=holiday]`)
		l.write(`dialog[open] #f-label`, "Fair <b>")
		l.see(`document.querySelector("dialog[open] #check")?.innerText.includes("Becomes version 2") && document.querySelector("dialog[open] .cal-moved[data-kind=gone]")?.innerText.includes("` + day + ` 07:30")`)
		l.fits()
		l.click(`dialog[open] .btn-primary`)
		l.see(`document.querySelector("#d-` + day + ` [data-kind=holiday]")?.title.includes("Fair <b>") && document.activeElement.id === "d-` + day + `"`)
		l.see(`document.querySelector(".cal-versions")?.innerText.includes("a holiday · Fair <b>")`)
		l.quiet(false)

		l.see(`document.querySelectorAll("a.cal-open[tabindex='0']").length === 1`) // the script of the new page has begun
		key(enter)
		l.see(`document.querySelector("dialog[open] input[value=holiday]:checked") && document.querySelector("dialog[open] #f-label").value === "Fair <b>"`)
		l.api.Run("calendars", "set", "cn", day, "workday", "Fair moved")
		l.click(`dialog[open] input[value=rule]`)
		l.see(`document.querySelector("dialog[open] #check .check-sum")?.innerText.includes("saved version 3")`)
		l.click(`dialog[open] .btn-primary`)
		l.see(`document.querySelector("main .notice")?.innerText.includes("saved version 3") && document.querySelector("input[value=rule]:checked")`)
		l.click(`#day-form .btn-primary`)
		l.see(`document.querySelector("#d-` + day + ` [data-kind]:not([data-mark])")`)
		l.goTo("/audit")
		l.seeText("calendar/default/cn")
		l.quiet(true)
	})
}

// Without scripts each day is a link to a form of its own.
func TestADayOfACalendarIsChangedWithoutScripts(t *testing.T) {
	inChromium(t, setup.Opts{}, func(t *testing.T, l *live, _ *setup.Process) {
		calendar, day := l.holidays()
		l.without()
		l.goTo("/login")
		l.fill("f-name", "admin", "f-password", setup.AdminPassword)
		l.press("form .btn-primary")
		l.await(".menu", "admin")
		l.goTo(calendar + "?year=" + day[:4])
		l.press("#d-" + day)
		l.await("#day-t", day)
		l.press(`.when-kind:has([value=holiday])`)
		l.fill("f-label", "Fair", "f-until", day[:8]+"12")
		l.press("button[name=preview]")
		l.await("#check", "Becomes version 2")
		l.press("#day-form .btn-primary")
		l.await("#d-"+day[:8]+"12", "Fair")
		if text := l.plainText("#d-" + day); !strings.Contains(text, "holiday") {
			t.Errorf("the day says %q", text)
		}
		l.quiet(false)
	})
}
