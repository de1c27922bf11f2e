package words

import (
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/i18n"
)

// WithCalendar adds to a schedule's sentence which calendar its job lives by and what that does to the
// fires. Without a calendar the sentence stays as it is.
func (Wording) WithCalendar(lang, sentence string, use domain.CalendarUse) string {
	if use.Name == "" {
		return sentence
	}
	key := "words.calendar.any"
	if use.On != domain.GateAny {
		key = "words.calendar." + string(use.On) + "." + string(use.Else)
	}
	return i18n.In(lang, key, "sentence", sentence, "calendar", use.Name)
}
