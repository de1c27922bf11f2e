package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	calendarsJSON = `{"calendars":[{"id":"5","name":"cn","project":"default","title":"中国节假日","version":3,"years":[2024,2025],"special":38,"jobs":2,"coveredTo":"2026-12-31","updatedAt":"2026-02-03T02:00:00Z"}]}`
	calendarJSON  = `{"id":"5","name":"cn","project":"default","title":"中国节假日","version":3,"years":[2024],"special":2,"jobs":1,"coveredTo":"","updatedAt":"2026-02-03T02:00:00Z",
"rest":["Sunday","Saturday"],"days":[{"date":"2024-05-01","kind":"holiday","label":"劳动节"},{"date":"2024-05-11","kind":"makeup","label":""}],"users":["report"],
"versions":[{"version":3,"file":"cn.csv","createdBy":"wang","createdAt":"2026-02-03T02:00:00Z"}],"text":"version: v1\ncalendar:\n  name: cn\n"}`
	appliedCalendarJSON = `{"calendar":"cn","id":"5","change":"updated","version":4,"years":[2024],"days":[{"date":"2024-05-01","was":"workday","is":"holiday","label":"劳动节"}],"jobs":2,
"moves":[{"job":"report","gone":[{"at":"2024-05-01T07:30:00+08:00","bizDate":"2024-05-01","movedFrom":""}],"added":[{"at":"2024-05-06T07:30:00+08:00","bizDate":"2024-05-06","movedFrom":"2024-05-01"}],"goneCount":12,"addedCount":1,"more":false}],"dryRun":true}`
	sampleCalendar = "../../modules/calendar/testdata/cn-2024.yaml"
)

func TestCalendarsOnTheTerminal(t *testing.T) {
	a := newAPI(t)
	a.on("GET /api/v1/calendars", 200, calendarsJSON)
	a.on("GET /api/v1/calendars/cn", 200, calendarJSON)
	a.on("POST /api/v1/calendars", 200, appliedCalendarJSON)
	a.on("PUT /api/v1/calendars/cn/days/2024-05-01..2024-05-05", 200, appliedCalendarJSON)
	a.on("DELETE /api/v1/calendars/cn", 204, "")
	for name, args := range map[string][]string{"calendars": {"calendars"}, "calendars-show": {"calendars", "show", "cn"}, "calendars-yaml": {"calendars", "show", "cn", "--yaml"},
		"calendars-apply": {"calendars", "apply", "-f", sampleCalendar, "--name", "cn", "--base", "3", "--dry-run"}, "calendars-delete": {"calendars", "delete", "cn"},
		"calendars-set": {"calendars", "set", "cn", "2024-05-01..2024-05-05", "holiday", "劳动节", "--base", "3", "--dry-run"}} {
		golden(t, name, a.still(t, args...).String())
		if name != "calendars-yaml" {
			got := a.still(t, append([]string{"--json"}, args...)...)
			got.json(t)
		}
	}
	sent := a.of("POST /api/v1/calendars")
	if len(sent) != 2 || !strings.Contains(sent[0].body, `"base":3`) || !strings.Contains(sent[0].body, `"file":"cn-2024.yaml"`) || !strings.Contains(sent[0].body, `"dryRun":true`) || !strings.Contains(sent[0].body, "劳动节") {
		t.Errorf("sent: %+v", sent)
	}
	if set := a.of("PUT /api/v1/calendars/cn/days/2024-05-01..2024-05-05"); len(set) != 2 || set[0].body != `{"kind":"holiday","label":"劳动节","addYear":false,"base":3,"dryRun":true}` {
		t.Errorf("set: %+v", set)
	}
	for _, args := range [][]string{{"calendars", "set", "cn", "2024-05-01"}, {"calendars", "apply"}, {"calendars", "show"}, {"calendars", "what"}} {
		if got := a.still(t, args...); got.code != exitUsage {
			t.Errorf("%v: %s", args, got)
		}
	}
}

func TestNextAndValidateGoByACalendarFile(t *testing.T) {
	ask := func(args ...string) said {
		return ax(t, nil, "", append([]string{"next", "--tz", "Asia/Shanghai", "--from", "2024-04-30T00:00:00Z", "-n", "3", "--calendar", sampleCalendar}, args...)...)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--", "30 7 * * *"}, "2024-05-06T07:30:00+08:00\n2024-05-07T07:30:00+08:00\n2024-05-08T07:30:00+08:00\n"},
		{[]string{"--on", "restday", "--", "30 7 * * *"}, "2024-05-01T07:30:00+08:00\n2024-05-02T07:30:00+08:00\n2024-05-03T07:30:00+08:00\n"},
		{[]string{"--else", "next", "--", "30 7 3,12 * *"}, "2024-05-06T07:30:00+08:00\n2024-05-13T07:30:00+08:00\n2024-06-03T07:30:00+08:00\n"},
		{[]string{"--else", "previous", "--", "30 7 12 * *"}, "2024-05-11T07:30:00+08:00\n2024-06-12T07:30:00+08:00\n2024-07-12T07:30:00+08:00\n"},
	} {
		if got := ask(c.args...); got.out != c.want || got.code != 0 {
			t.Errorf("%v: %s", c.args, got)
		}
	}
	if got := ask("--", "30 7 * * *"); !strings.Contains(got.err, "2024-05-01 劳动节: skipped by its calendar") {
		t.Errorf("it does not say what it passed over: %s", got)
	}
	for _, wrong := range [][]string{{"--on", "any", "--", "30 7 * * *"}, {"--else", "x", "--", "30 7 * * *"}} {
		if got := ask(wrong...); got.code != exitUsage {
			t.Errorf("%v: %s", wrong, got)
		}
	}
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.yaml")
	if err := os.WriteFile(bad, []byte("version: v1\ncalendar:\n  name: cn\n  oops: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := ax(t, nil, "", "next", "--calendar", bad, "--", "30 7 * * *"); got.code != exitFailed || !strings.Contains(got.err, "bad.yaml:4:3: error: There is no key oops here") {
		t.Errorf("a faulty file: %s", got)
	}
	const job = "version: v1\njob:\n  name: report\n  timeout: 5\n  cron: \"30 7 * * *\"\n  calendar: cn\n  exec: {type: noop}\n"
	if got := ax(t, nil, job, "validate", "-"); got.code != 0 || !strings.Contains(got.out, "next as calendar cn lets it") || !strings.Contains(got.err, "lives by calendar cn, which is in none of these files") {
		t.Errorf("without the calendar: %s", got)
	}
	if got := ax(t, nil, job, "validate", "--calendar", sampleCalendar, "-"); got.code != 0 || !strings.Contains(got.out, "next 2026-02-03T07:30:00Z") || !strings.Contains(got.err, "does not know the holidays") {
		t.Errorf("with the calendar: %s", got)
	}
}
