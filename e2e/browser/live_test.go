package browser

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/axsched/ax/e2e/setup"
)

// live is a real AX, a person at it, and a client of its API.
type live struct {
	*person
	api *setup.Client
}

// inChromium runs fn with an AX of its own and a fresh browser.
func inChromium(t *testing.T, o setup.Opts, fn func(t *testing.T, l *live, p *setup.Process)) {
	t.Helper()
	t.Parallel()
	t.Run("chromium", func(t *testing.T) {
		b := launch(t, "")
		site := setup.Embedded(t)
		process := site.All(t, o)
		b.url = process.URL
		if err := chromedp.Do(b.ctx, chromedp.EmulateViewport(1440, 900)); err != nil {
			t.Fatal(err)
		}
		fn(t, &live{&person{t, b}, site.Client(t, process)}, process)
	})
}

func demo() setup.Opts { return setup.Opts{Args: []string{"--demo"}} }

// asAdmin logs in and sees the first page.
func (l *live) asAdmin() {
	l.t.Helper()
	l.logIn("admin", setup.AdminPassword)
	l.seeAt(`\/`)
}

// job applies a job file and gives the path of its page.
func (l *live) job(name, yaml string) string {
	l.t.Helper()
	l.api.Apply(yaml)
	var job struct{ ID string }
	if err := l.api.Get("/api/v1/jobs/"+strings.ReplaceAll(name, "/", "%2F"), &job); err != nil {
		l.t.Fatal(err)
	}
	return "/jobs/" + job.ID
}

// run triggers a job; with --wait among the flags it waits for the end, good or bad.
func (l *live) run(name string, flags ...string) setup.Instance {
	l.t.Helper()
	said := l.api.Run(append([]string{"--json", "trigger", name}, flags...)...)
	var in setup.Instance
	if err := json.Unmarshal([]byte(said.Out), &in); err != nil {
		l.t.Fatalf("trigger %s: exit %d, %v\n%s", name, said.Code, err, said.Err)
	}
	return in
}

// create makes something by the API.
func (l *live) create(path, body string) {
	l.t.Helper()
	if a, err := l.api.Call("POST", path, body, "Idempotency-Key", path); err != nil || a.Status != 201 {
		l.t.Fatalf("POST %s: %v %d %s", path, err, a.Status, a.Body)
	}
}

const failing = `version: v1
job: {name: breaks, exec: {type: shell, command: "echo reading; echo 'no such file: orders.csv' >&2; exit 3"}, timeout: 20}
`

var setupLink = regexp.MustCompile(`/setup\?token=\S+`)

func TestTheFirstAccountIsMadeByTheLinkOfTheFirstStart(t *testing.T) {
	nothingGiven := setup.Opts{Env: []string{"AX_ADMIN_PASSWORD=", "AX_BOOTSTRAP_TOKEN="}}
	inChromium(t, nothingGiven, func(t *testing.T, l *live, process *setup.Process) {
		link := setupLink.FindString(process.Tail(100))
		if link == "" {
			t.Fatalf("the first start prints no link:\n%s", process.Tail(100))
		}
		l.goTo("/setup")
		l.see(`document.querySelector(".notice")`)
		if l.count("input[type=password]") != 0 {
			t.Error("without its token the page asks for a password")
		}
		l.quiet(true)
		l.goTo(link)
		l.write("#f-name", "zhou.yun")
		l.write("#f-password", "a password for the first")
		l.write("#f-repeat", "another one")
		l.click("form .btn-primary")
		l.see(`document.querySelector("#e-repeat") && document.querySelector("#f-name").value === "zhou.yun"`)
		l.quiet(true)
		l.write("#f-password", "a password for the first")
		l.write("#f-repeat", "a password for the first")
		l.click("form .btn-primary")
		l.seeAt(`\/`)
		l.see(`document.querySelector('main a[href="/jobs/new"]')`)
		l.fits()
		l.logOut()
		l.logIn("zhou.yun", "a password for the second")
		l.see(`document.querySelector(".notice[data-kind=failed]") && document.querySelector("#f-name").value === "zhou.yun"`)
		l.quiet(true)
		l.write("#f-password", "a password for the first")
		l.click("form .btn-primary")
		l.seeAt(`\/`)
		l.goTo(link)
		l.see(`document.querySelector(".notice")`)
		l.quiet(true)
	})
}

func TestANewcomersDay(t *testing.T) {
	inChromium(t, demo(), func(t *testing.T, l *live, _ *setup.Process) {
		l.job("breaks", failing)
		broken := l.run("breaks", "--wait")
		l.asAdmin()
		finishedGraph(l)
		failedLog(l, broken)
		ticker := shortForm(l)
		liveLog(l, ticker)
		choiceInWords(l)
	})
}

// finishedGraph goes from the first page to the demo's finished graph and on to one
// of its instances.
func finishedGraph(l *live) {
	l.t.Helper()
	l.see(`document.querySelectorAll(".fig-card").length === 5`)
	l.click(`[data-nav=dag]`)
	l.seeAt(`\/dag`)
	l.see(`document.querySelectorAll(".node[data-st=success]").length === 3 && document.querySelectorAll(".edges path").length === 2`)
	l.eval(`([...document.querySelectorAll(".node")].find(n => n.textContent.includes("order_stat_daily")).dispatchEvent(new MouseEvent("click", {bubbles: true, cancelable: true})), "")`)
	l.see(`document.querySelector(".dag-panel a[href^='/instances/']")`)
	l.click(".dag-panel a[href^='/instances/']")
	l.seeAt(`\/instances\/\d+`)
	l.see(`document.querySelectorAll("[data-log-lines] > li").length > 0`)
	l.quiet(false)
}

// failedLog goes from the figure of failures to the log of what failed.
func failedLog(l *live, broken setup.Instance) {
	l.t.Helper()
	l.goTo("/")
	l.see(`document.querySelector(".fig-failures .figure-value")?.innerText === "1"`)
	l.click(".fig-failures h2 a")
	l.see(`location.pathname === "/instances" && document.querySelectorAll(".inst-table tbody tr").length === 1`)
	l.click(".inst-table td.cell-main a")
	l.seeAt(`\/instances\/` + broken.ID)
	l.see(`document.querySelector("[data-log-lines] li[data-s=stderr]")?.innerText.includes("no such file: orders.csv")`)
	l.seeText("exit code 3")
	l.quiet(false)
}

// shortForm makes a job without YAML and gives the path of its page.
func shortForm(l *live) string {
	l.t.Helper()
	l.goTo("/jobs")
	l.click(`.page-actions a[href="/jobs/new"]`)
	l.seeAt(`\/jobs\/new`)
	if l.count("#check .problems") != 0 {
		l.t.Error("a form that nobody has touched is told off")
	}
	l.write("#f-name", "ticker")
	l.click(choice("cron"))
	l.write("#f-cron", "* * * *")
	l.write("#f-command", `for i in $(seq 1 200); do echo "tick $i of {{biz_date}}"; sleep 0.2; done`)
	l.write("#f-timeout", "100")
	l.see(`document.querySelectorAll("#check .problems li[data-kind=error]").length === 1`)
	l.click(".page-actions .btn-primary")
	l.see(`document.querySelector("#e-cron") && document.querySelector("#f-name").value === "ticker"`)
	l.quiet(true)
	// Twelve hours from now: a fire of its own would be in the way of the run by hand.
	l.write("#f-cron", fmt.Sprintf("0 %d * * *", time.Now().UTC().Add(12*time.Hour).Hour()))
	l.see(`document.querySelectorAll("#check .fires li").length === 5 && document.querySelector("#check .check-sum[data-kind=good]")`)
	l.click(".page-actions .btn-primary")
	l.seeAt(`\/jobs\/\d+`)
	l.seeText("ticker")
	l.quiet(false)
	return l.where()
}

// choice is the form's way to be due of a kind.
func choice(kind string) string { return ".when-kind:has(input[value=" + kind + "])" }

// choiceInWords says in the form that a job fires on each working day, and finds it said so again.
func choiceInWords(l *live) {
	l.t.Helper()
	l.goTo("/jobs/new")
	l.write("#f-name", "early_report")
	l.write("#f-command", "echo {{biz_date}}")
	l.write("#f-timeout", "100")
	l.click(choice("workdays"))
	l.see(`document.querySelector("input[name=when]:checked").value === "workdays"`)
	l.see(`getComputedStyle(document.querySelector(".when-part-cron")).display === "none"`)
	l.eval(`(Object.assign(document.querySelector("#f-time"), {value: "07:30"}).dispatchEvent(new Event("input", {bubbles: true})), "")`)
	l.see(`document.querySelectorAll("#check .fires li").length === 5 && document.querySelector("#check").innerText.includes("07:30")`)
	l.see(`![...document.querySelectorAll("#check .fires li")].some(li => /Sat|Sun/.test(li.innerText))`)
	l.click(".page-actions .btn-primary")
	l.seeAt(`\/jobs\/\d+`)
	job := l.where()
	l.seeText("07:30")
	l.goTo(job + "/edit")
	l.see(`document.querySelector("input[name=when]:checked")?.value === "workdays" && document.querySelector("#f-time").value === "07:30"`)
	l.quiet(false)
}

// liveLog runs the job, watches its log grow, kills it, and runs it again.
func liveLog(l *live, job string) {
	l.t.Helper()
	l.goTo(job)
	l.click("[data-dialog=trigger]")
	l.see(`document.getElementById("trigger").open`)
	l.click("#trigger .btn-primary")
	l.seeAt(`\/instances\/\d+`)
	l.eval(`(window.stayed = true, "")`)
	l.see(`document.querySelectorAll("[data-log-lines] > li").length > 3`)
	seen := l.count("[data-log-lines] > li")
	l.see(fmt.Sprintf(`window.stayed && document.querySelectorAll("[data-log-lines] > li").length >= %d + 5`, seen))
	l.see(`window.stayed && document.querySelector(".summary")?.dataset.st === "running" && document.querySelector("[data-dialog=kill]")`)
	l.click("[data-dialog=kill]")
	l.see(`document.getElementById("kill").open`)
	l.write("#kill [name=reason]", "enough ticks")
	l.click("#kill .btn-danger")
	l.see(`document.querySelector(".summary")?.dataset.st === "cancelled" && document.body.innerText.includes("enough ticks")`)
	l.see(`document.querySelector("[data-dialog=rerun]")`)
	l.click("[data-dialog=rerun]")
	l.see(`document.getElementById("rerun").open`)
	l.click("#rerun .btn-primary")
	l.see(`document.querySelector(".summary")?.dataset.st === "running" && document.querySelectorAll(".run-name").length === 2`)
	l.see(`document.querySelector("[data-log-lines] > li")?.innerText.includes("tick 1 ")`)
	l.quiet(false)
	l.api.Must("kill", strings.TrimPrefix(l.where(), "/instances/"))
	l.see(`document.querySelector(".summary")?.dataset.st === "cancelled"`)
}

func TestTheEditorSaysWhatIsWrongAtItsLine(t *testing.T) {
	inChromium(t, setup.Opts{}, func(t *testing.T, l *live, _ *setup.Process) {
		const good = "version: v1\njob:\n  name: up\n  cron: \"0 2 * * *\"\n  exec: {type: noop}\n  timeout: 30\n"
		up := l.job("up", good)
		l.job("down", "version: v1\njob:\n  name: down\n  deps: [{name: up}]\n  exec: {type: noop}\n  timeout: 30\n")
		l.asAdmin()
		l.goTo(up + "/edit?mode=yaml")
		for _, bad := range []struct {
			what, from, to string
			line           int
			says           string
		}{
			{"an impossible cron", `0 2 * * *`, `0 2 30 2 *`, 4, "never"},
			{"a wrong cron", `0 2 * * *`, `61 2 * * *`, 4, "61"},
			{"an unknown key", "timeout: 30", "timeuot: 30", 6, "timeuot"},
			{"a cycle", "timeout: 30", "deps: [{name: down}]\n  timeout: 30", 6, "down"},
			{"a missing dependency", "timeout: 30", "deps: [{name: nobody}]\n  timeout: 30", 6, "nobody"},
			{"an unknown variable", "{type: noop}", "{type: shell, command: \"echo {{bizdate}}\"}", 5, "bizdate"},
		} {
			text := strings.Replace(good, bad.from, bad.to, 1)
			l.paste(text)
			problem := fmt.Sprintf(`[...document.querySelectorAll("#check .problems li[data-line='%d'][data-kind=error]")].some(li => li.innerText.includes(%q))`, bad.line, bad.says)
			l.see(problem)
			l.see(`document.querySelector(".yaml-host").shadowRoot.querySelector(".cm-lintRange-error")`)
			l.click(".page-actions .btn-primary")
			l.see(`document.readyState === "complete" && document.querySelector(".yaml-host")?.shadowRoot.querySelector(".cm-content") && performance.getEntriesByType("navigation")[0].responseStatus === 422`)
			l.see(problem)
			if kept := l.eval(`document.getElementById("text").value`); kept != text {
				t.Errorf("after %s the editor holds %q", bad.what, kept)
			}
			l.quiet(true)
			l.goTo(up + "/edit?mode=yaml")
		}
		var after struct{ Version int }
		if err := l.api.Get("/api/v1/jobs/up", &after); err != nil || after.Version != 1 {
			t.Errorf("after six refusals the version is %d, error %v", after.Version, err)
		}
		l.paste(strings.Replace(good, "timeout: 30", "timeout: 31 # enough", 1))
		l.see(`document.querySelector("#check .check-sum[data-kind=good]")`)
		l.click(".page-actions .btn-primary")
		l.seeAt(`\/jobs\/\d+`)
		l.goTo(l.where() + "?tab=yaml")
		l.seeText("timeout: 31 # enough")
		l.quiet(false)
	})
}

func TestFiltersSearchAndChoicesLast(t *testing.T) {
	inChromium(t, demo(), func(t *testing.T, l *live, _ *setup.Process) {
		l.job("breaks", failing)
		broken := l.run("breaks", "--wait", "--biz-date", "2026-02-03")
		l.run("breaks", "--wait", "--biz-date", "2026-02-04")
		l.asAdmin()
		filters(l, broken)
		search(l, broken)
		choices(l)
	})
}

// filters narrows the list of instances step by step; each address restores it.
func filters(l *live, broken setup.Instance) {
	l.t.Helper()
	rows := func(n int) string {
		return fmt.Sprintf(`document.readyState === "complete" && document.querySelectorAll(".inst-table tbody tr").length === %d`, n)
	}
	l.goTo("/instances")
	l.click(".state-chip[data-group=failed]")
	l.seeAt(`\/instances\?state=failed`)
	l.see(rows(2))
	l.eval(`((s) => { s.value = "error"; s.dispatchEvent(new Event("change", {bubbles: true})) })(document.querySelector("select[name=label]"))`)
	l.seeAt(`\/instances\?state=failed&label=error`)
	l.see(rows(2))
	l.eval(`((d) => { d.value = "2026-02-03"; d.dispatchEvent(new Event("change", {bubbles: true})) })(document.querySelector("input[name=biz_date]"))`)
	l.see(`location.search.includes("biz_date=2026-02-03")`)
	l.see(rows(1))
	l.write("input[name=trace]", broken.TraceID+"\r")
	l.see(`location.search.includes("trace=` + broken.TraceID + `")`)
	l.see(rows(1))
	l.goTo(l.where())
	l.see(rows(1))
	l.see(`document.querySelector("select[name=label]").value === "error" && document.querySelector("input[name=biz_date]").value === "2026-02-03" && document.querySelector("input[name=trace]").value === "` + broken.TraceID + `" && document.querySelector(".state-chip.on").dataset.group === "failed"`)
	l.write("input[name=job]", "heartbeat-of-nobody\r")
	l.see(rows(0))
	l.quiet(true)
}

// search finds things from the top bar.
func search(l *live, broken setup.Instance) {
	l.t.Helper()
	for _, text := range []string{broken.ID, broken.TraceID} {
		l.goTo("/workers")
		l.write("#search", text+"\r")
		l.seeAt(`\/instances\/` + broken.ID)
	}
	l.write("#search", "order_stat_daily\r")
	l.seeAt(`\/jobs\/\d+`)
	l.write("#search", "daily\r")
	l.see(`location.pathname === "/search" && document.querySelectorAll(".found li").length === 3`)
	l.fits()
	l.write("#search", "nothing-like-that\r")
	l.seeAt(`\/search\?q=nothing-like-that`)
	l.see(`document.querySelector(".empty-state") && document.getElementById("search").value === "nothing-like-that"`)
	l.quiet(false)
}

// choices switches language and theme and makes a token.
func choices(l *live) {
	l.t.Helper()
	l.goTo("/instances?state=failed")
	l.see(`document.documentElement.lang === "en"`)
	l.click(`.top form[action="/prefs"] button[lang]`)
	l.see(`document.documentElement.lang === "zh-CN" && location.search === "?state=failed"`)
	l.seeText("失败")
	l.click(`[data-theme-form] button`)
	theme := l.eval(`document.documentElement.dataset.bsTheme ?? ""`)
	l.see(`document.documentElement.dataset.bsTheme`)
	l.goTo("/profile")
	l.see(fmt.Sprintf(`document.documentElement.dataset.bsTheme === %q && document.documentElement.lang === "zh-CN"`, theme))
	l.write(`.token-form [name=name]`, "laptop")
	l.click(`.token-form .btn-primary`)
	l.see(`/export AX_URL=\S+ AX_TOKEN=ax_[A-Z0-9]+/.test(document.querySelector(".made")?.innerText)`)
	l.fits()
	l.goTo("/profile")
	l.see(`document.querySelector(".tokens") && !document.querySelector(".made")`)
	l.eval(`((s) => { s.value = "en" })(document.querySelector("#f-lang"))`)
	l.click(`form:has(#f-lang) .btn-primary`)
	l.see(`document.documentElement.lang === "en" && document.querySelector(".toast-box")`)
	l.quiet(false)
}

func TestAViewerLooksAndChangesNothing(t *testing.T) {
	inChromium(t, setup.Opts{}, func(t *testing.T, l *live, _ *setup.Process) {
		job := l.job("sleeper", "version: v1\njob: {name: sleeper, exec: {type: shell, command: sleep 60}, timeout: 90}\n")
		in := l.run("sleeper")
		l.create("/api/v1/users", `{"name": "guest", "password": "guest of the house"}`)
		l.create("/api/v1/users/guest/roles", `{"project": "default", "role": "viewer"}`)
		l.logIn("guest", "guest of the house")
		l.seeAt(`\/`)
		for _, path := range []string{job, "/instances/" + in.ID, "/workers", "/jobs", "/instances", "/dag"} {
			l.goTo(path)
			l.see(`document.readyState === "complete" && document.querySelector("main h1")`)
			if n := l.count(`main [data-dialog], main form[method=post], main a[href$="/edit"], main a[href="/jobs/new"]`); n != 0 {
				t.Errorf("%s offers a viewer %d ways to change something", path, n)
			}
			l.quiet(false)
		}
		for _, path := range []string{"/instances/" + in.ID + "/kill", "/instances/" + in.ID + "/rerun", job + "/trigger", job + "/pause", job + "/delete"} {
			status := l.eval(`fetch(` + jsString(path) + `, {method: "POST", body: new URLSearchParams({csrf: document.querySelector("input[name=csrf]").value, biz_date: "2026-02-03"})}).then(r => String(r.status))`)
			if status != "403" {
				t.Errorf("a direct POST to %s is answered %s", path, status)
			}
		}
		if n := l.count("[data-nav=audit]"); n != 0 || l.count("[data-nav=jobs]") != 1 {
			t.Errorf("the navigation leads a viewer to the audit trail %d times", n)
		}
		l.goTo("/audit")
		l.see(`document.querySelector(".failure-code")?.innerText === "403"`)
		l.fits()
		l.quiet(true)
		var now setup.Instance
		l.api.JSON(&now, "instance", in.ID)
		if now.State != "running" {
			t.Errorf("the instance is %s after the viewer's attempts", now.State)
		}
		l.api.Must("kill", in.ID)
	})
}

// TestEveryLivePage opens each page of a real AX, in English on a telephone, which is
// the narrowest for the longest words, and in Chinese on a desk.
func TestEveryLivePage(t *testing.T) {
	inChromium(t, demo(), func(t *testing.T, l *live, _ *setup.Process) {
		job := l.job("breaks", failing)
		in := "/instances/" + l.run("breaks", "--wait").ID
		l.asAdmin()
		for lang, width := range map[string]int64{"en": 390, "zh-CN": 1440} {
			l.goTo("/profile")
			if !ask[bool](t, l.b, `document.documentElement.lang === "`+lang+`"`) {
				l.click(`.top form[action="/prefs"] button[lang]`)
			}
			l.do("take another device", chromedp.EmulateViewport(width, 900))
			for _, path := range []string{"/", "/jobs", "/jobs/new", "/jobs/new?mode=yaml", job, job + "?tab=deps", job + "?tab=versions", job + "?tab=yaml", job + "/edit",
				"/instances", in, in + "?tab=dispatch", in + "?tab=params", in + "?tab=deps", in + "?tab=history", "/calendars", "/calendars/new", "/dag", "/dag?view=list", "/workers", "/incidents", "/audit", "/profile", "/search"} {
				l.goTo(path)
				l.see(`document.readyState === "complete" && document.documentElement.lang === "` + lang + `" && document.querySelector("main h1")`)
				l.noSideways()
				l.quiet(false)
			}
			l.goTo("/nowhere")
			l.see(`document.querySelector(".failure-code")?.innerText === "404"`)
			l.noSideways()
			l.quiet(true)
		}
	})
}
