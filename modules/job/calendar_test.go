package job

import (
	"strings"
	"testing"

	"github.com/axsched/ax/modules/domain"
)

func TestCalendarsAndRulesAreRead(t *testing.T) {
	for text, want := range map[string]struct {
		rule domain.BizDateRule
		use  domain.CalendarUse
	}{
		"  biz_date: month_end\n": {rule: "month_end"},
		"  biz_date: workday-1\n": {rule: "prev_workday"},
		"  biz_date: T+30\n":      {rule: "T+30"},
		"  calendar: cn\n":        {rule: "T", use: domain.CalendarUse{Name: "cn", On: "workday", Else: "skip"}},
		"  calendar: {name: 中国, on: restday, else: next}\n":             {rule: "T", use: domain.CalendarUse{Name: "中国", On: "restday", Else: "next"}},
		"  calendar:\n    else: previous\n    name: cn\n":               {rule: "T", use: domain.CalendarUse{Name: "cn", On: "workday", Else: "previous"}},
		"  every: 1h\n  calendar: cn\n":                                 {rule: "T", use: domain.CalendarUse{Name: "cn", On: "workday", Else: "skip"}},
		"  at: 2099-01-01T00:00:00Z\n  calendar: {name: cn, on: any}\n": {rule: "T", use: domain.CalendarUse{Name: "cn", On: "any", Else: "skip"}},
	} {
		parsed, problems := ParseFile([]byte(jobYAML(text)), options())
		if len(problems.Errors()) > 0 {
			t.Errorf("%s%s", text, problems.Render(func(key string, _ map[string]string) string { return key }))
			continue
		}
		if s := parsed[0].Spec; s.BizDate != want.rule || s.Calendar != want.use {
			t.Errorf("%sreads as %q and %+v", text, s.BizDate, s.Calendar)
		}
	}
}

// A job without a calendar has the digest that it had before there were any.
func TestDigestsStandWithoutCalendars(t *testing.T) {
	with, without := jobYAML("  calendar: cn\n"), jobYAML("")
	a, _ := ParseFile([]byte(with), options())
	b, _ := ParseFile([]byte(without), options())
	if a[0].Spec.Digest() == b[0].Spec.Digest() {
		t.Error("a calendar does not change the meaning")
	}
	if keys := Changed(b[0].Spec, a[0].Spec); strings.Join(keys, " ") != "calendar" {
		t.Errorf("changed: %v", keys)
	}
}
