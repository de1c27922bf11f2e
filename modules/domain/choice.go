package domain

// Choice is a schedule as people choose it in a form: its kind, and the fields of that kind
// as they are typed; the others are not looked at.
type Choice struct {
	Kind ChoiceKind

	Minutes  string   // ChoiceMinutes: how many lie between, 1 to 59
	Minute   string   // ChoiceHourly: of each hour, 0 to 59
	Time     string   // all that fire at one time of a day: 07:30
	Weekdays []string // ChoiceWeekly: "0" is Sunday, "6" Saturday
	Day      string   // ChoiceMonthly: 1 to 31
	Nth      string   // ChoiceNth: 1 to 5, or "last"
	Weekday  string   // ChoiceNth: "0" is Sunday
	At       string   // ChoiceOnce: 2026-02-03T04:05, in the job's zone
	Every    string   // ChoiceEvery: 90s, 10m, 1d
	Cron     string   // ChoiceOwn
}

// ChoiceKind is what a form offers.
type ChoiceKind string

// The kinds. ChoiceNone never fires by itself; ChoiceOwn is whatever the
// others do not cover.
const (
	ChoiceNone       ChoiceKind = "none"
	ChoiceMinutes    ChoiceKind = "minutes"
	ChoiceHourly     ChoiceKind = "hourly"
	ChoiceDaily      ChoiceKind = "daily"
	ChoiceWorkdays   ChoiceKind = "workdays"
	ChoiceWeekly     ChoiceKind = "weekly"
	ChoiceMonthly    ChoiceKind = "monthly"
	ChoiceMonthEnd   ChoiceKind = "month_end"
	ChoiceEndWorkday ChoiceKind = "month_end_workday"
	ChoiceNth        ChoiceKind = "nth_weekday"
	ChoiceOnce       ChoiceKind = "once"
	ChoiceEvery      ChoiceKind = "every"
	ChoiceOwn        ChoiceKind = "cron"

	// ChoiceUpstream is no schedule: the job's upstreams start it. It stands beside ChoiceKinds.
	ChoiceUpstream ChoiceKind = "upstream"
)

// ChoiceKinds lists the kinds in the order in which a form offers them.
func ChoiceKinds() []ChoiceKind {
	return []ChoiceKind{ChoiceMinutes, ChoiceHourly, ChoiceDaily, ChoiceWorkdays, ChoiceWeekly, ChoiceMonthly, ChoiceMonthEnd, ChoiceEndWorkday,
		ChoiceNth, ChoiceOnce, ChoiceEvery, ChoiceOwn, ChoiceNone}
}

// Timed tells whether the kind fires at one time of a day.
func (k ChoiceKind) Timed() bool {
	switch k {
	case ChoiceDaily, ChoiceWorkdays, ChoiceWeekly, ChoiceMonthly, ChoiceMonthEnd, ChoiceEndWorkday, ChoiceNth:
		return true
	}
	return false
}

// Caution is something about a schedule that people may not expect. ID and Args choose its
// sentence.
type Caution struct {
	ID   string
	Args map[string]string
}
