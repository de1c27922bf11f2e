package browser

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/axsched/ax/e2e/setup"
)

// seen is what the instance page says in one second.
type seen struct {
	at             time.Duration // after the kill
	status, reason string
}

const sleeper = `version: v1
job: {name: sleeper, exec: {type: shell, command: "sleep 8; echo done"}, timeout: 60}
`

// A worker is killed in mid-run. The page, which nobody reloads, does not go on saying that the task runs on it, says that
// it is silent before it is lost, and then where the task runs instead.
func TestThePageTellsOfALostWorkerSecondBySecond(t *testing.T) {
	t.Parallel()
	t.Run("chromium", func(t *testing.T) {
		b := launch(t, "")
		setup.Real(t, func(t *testing.T, s *setup.Site) {
			center := s.Center(t, setup.Opts{})
			first := s.Worker(t, setup.Opts{Name: "first"})
			b.url = center.URL
			l := &live{&person{t, b}, s.Client(t, center)}
			if err := chromedp.Do(b.ctx, chromedp.EmulateViewport(1440, 900)); err != nil {
				t.Fatal(err)
			}
			l.asAdmin()
			l.job("sleeper", sleeper)
			in := l.run("sleeper")
			l.goTo("/instances/" + in.ID)
			l.seeText("It runs on first since")
			s.Worker(t, setup.Opts{Name: "second"})
			first.Kill()
			killed := time.Now()
			var told []seen
			for time.Since(killed) < 45*time.Second {
				now := seen{time.Since(killed).Round(time.Second), l.eval(`document.querySelector("main .st").dataset.st`), l.text("p.why")}
				told = append(told, now)
				t.Logf("%3.0f s  %s · %s", now.at.Seconds(), now.status, now.reason)
				if strings.Contains(now.status, "success") {
					break
				}
				time.Sleep(time.Until(killed.Add(now.at + time.Second))) // once a second is what is shown
			}
			judge(t, told)
		})
	})
}

var (
	runsOnFirst = regexp.MustCompile(`It runs on first since`)
	silent      = regexp.MustCompile(`(?i)first.*silent`)
	onSecond    = regexp.MustCompile(`second`)
)

// judge holds what was told against what was so.
func judge(t *testing.T, told []seen) {
	t.Helper()
	var warned, elsewhere bool
	for _, s := range told {
		if s.at > 11*time.Second && runsOnFirst.MatchString(s.reason) && !silent.MatchString(s.reason) {
			t.Errorf("%s after its worker's death the page says: %s", s.at, s.reason)
		}
		warned = warned || silent.MatchString(s.reason)
		elsewhere = elsewhere || warned && onSecond.MatchString(s.reason)
	}
	if !warned || !elsewhere || !strings.Contains(told[len(told)-1].status, "success") {
		t.Errorf("warned: %v, elsewhere: %v, at last: %+v", warned, elsewhere, told[len(told)-1])
	}
}
