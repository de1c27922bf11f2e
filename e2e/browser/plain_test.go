package browser

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/axsched/ax/e2e/setup"
)

// without turns off the scripts of every page that is opened from now on. What the test itself asks is answered all the same.
func (p *person) without() {
	p.t.Helper()
	p.do("turn scripts off", chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		return err
	}))
}

// await waits until a selector's first element holds a text. It asks in steps, since no page without scripts tells anything by itself.
func (p *person) await(selector, text string) {
	p.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(40 * time.Millisecond) {
		if strings.Contains(p.plainText(selector), text) {
			return
		}
	}
	p.t.Fatalf("%s never says %q on %s; it says\n%.1500s", selector, text, p.where(), p.plainText(selector))
}

func (p *person) plainText(selector string) string {
	return p.eval(fmt.Sprintf(`document.querySelector(%q)?.textContent ?? ""`, selector))
}

// press clicks where nothing moves by itself.
func (p *person) press(selector string) {
	p.t.Helper()
	p.do("press "+selector, chromedp.Click(chromedp.CSS(selector)))
}

// fill puts values into fields that are named by their ids.
func (p *person) fill(values ...string) {
	p.t.Helper()
	for i := 0; i+1 < len(values); i += 2 {
		if got := p.eval(fmt.Sprintf(`document.getElementById(%q).value = %s`, values[i], jsString(values[i+1]))); got != values[i+1] {
			p.t.Fatalf("%s holds %q on %s", values[i], got, p.where())
		}
	}
}

// A job that depends on another is chosen in words, looked over, mended and saved, and its dependencies are read
// on its page and on that of an instance: all of it with scripts off.
func TestWithoutScripts(t *testing.T) {
	inChromium(t, setup.Opts{}, func(t *testing.T, l *live, _ *setup.Process) {
		l.job("sync_order", `version: v1
job: {name: sync_order, cron: "0 1 1 1 *", timezone: UTC, exec: {type: noop}, timeout: 60}
`)
		l.without()
		l.goTo("/login")
		l.fill("f-name", "admin", "f-password", setup.AdminPassword)
		l.press("form .btn-primary")
		l.await(".menu", "admin")
		l.goTo("/jobs/new")
		if l.eval(`document.documentElement.className`) != "" {
			t.Fatal("the page's scripts run")
		}
		l.fill("f-name", "report", "f-command", "echo {{biz_date}}", "f-timeout", "100", "f-deps", "sync_ordr", "f-nth", "last", "f-weekday", "0", "f-time", "07:30", "f-timezone", "UTC")
		l.press(choice("nth_weekday"))
		l.press("button[name=preview]")
		l.await("#check", "07:30")
		l.await("#e-deps", "sync_order")
		l.await(".when-kind:has(input:checked)", l.plainText(choice("nth_weekday")))
		if fires := l.plainText("#check .fires"); strings.Count(fires, "Sunday")+strings.Count(fires, "Sun") == 0 || strings.Contains(fires, "Mon") {
			t.Errorf("the next fires are %q", fires)
		}
		l.fill("f-deps", "sync_order")
		l.press(".page-actions .btn-primary")
		l.await("h1", "report")
		l.await("main", "07:30")
		job := l.where()
		l.goTo(job + "?tab=deps")
		l.await(".dep-list a[href^='/jobs/']", "sync_order")

		instance := l.run("report")
		l.goTo("/instances/" + instance.ID + "?tab=deps")
		l.await(".dep-list li[data-met=false]", "sync_order")
		l.run("sync_order", "--biz-date", instance.BizDate, "--wait")
		l.metBy(instance.ID)
		l.quiet(false)
	})
}

// metBy opens the dependencies of an instance again until they are met.
func (p *person) metBy(instance string) {
	p.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		p.goTo("/instances/" + instance + "?tab=deps")
		if strings.Contains(p.plainText(".dep-list li[data-met=true]"), "sync_order") {
			return
		}
	}
	p.t.Fatalf("the page never says that the dependency is met: %s", p.plainText(".dep-list"))
}
