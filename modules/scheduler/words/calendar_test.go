package words

import (
	"strings"
	"testing"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/i18n"
)

// Each use of a calendar is said in each language, by its name, and no two alike.
func TestASentenceNamesTheCalendarAndWhatItDoes(t *testing.T) {
	for _, c := range []struct {
		use    domain.CalendarUse
		en, zh string
	}{
		{domain.CalendarUse{Name: "cn", On: domain.GateWorkday, Else: domain.ElseSkip}, "At 07:30 every day, on working days of cn only", "每天 07:30，仅在日历 cn 的工作日"},
		{domain.CalendarUse{Name: "cn", On: domain.GateWorkday, Else: domain.ElseNext}, "At 07:30 every day, on working days of cn, else on the next one", "每天 07:30，逢日历 cn 的非工作日顺延到下一个工作日"},
		{domain.CalendarUse{Name: "cn", On: domain.GateWorkday, Else: domain.ElsePrevious}, "At 07:30 every day, on working days of cn, else on the one before", "每天 07:30，逢日历 cn 的非工作日提前到上一个工作日"},
		{domain.CalendarUse{Name: "cn", On: domain.GateRestday, Else: domain.ElseSkip}, "At 07:30 every day, on rest days of cn only", "每天 07:30，仅在日历 cn 的休息日"},
		{domain.CalendarUse{Name: "cn", On: domain.GateRestday, Else: domain.ElseNext}, "At 07:30 every day, on rest days of cn, else on the next one", "每天 07:30，逢日历 cn 的工作日顺延到下一个休息日"},
		{domain.CalendarUse{Name: "cn", On: domain.GateRestday, Else: domain.ElsePrevious}, "At 07:30 every day, on rest days of cn, else on the one before", "每天 07:30，逢日历 cn 的工作日提前到上一个休息日"},
		{domain.CalendarUse{Name: "cn", On: domain.GateAny, Else: domain.ElseSkip}, "At 07:30 every day; working days are those of cn", "每天 07:30；工作日按日历 cn 计算"},
		{domain.CalendarUse{}, "At 07:30 every day", "每天 07:30"},
	} {
		for lang, want := range map[string]string{i18n.English: c.en, i18n.Chinese: c.zh} {
			plain := Wording{}.Sentence(lang, cronOf("30 7 * * *"), mustZone(t, "UTC"), start)
			if got := (Wording{}).WithCalendar(lang, plain, c.use); got != want || strings.Contains(got, "⟦") {
				t.Errorf("%+v: %s, want %s", c.use, got, want)
			}
		}
	}
}
