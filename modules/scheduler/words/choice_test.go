package words

import (
	"math/rand/v2"
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/i18n"
	"github.com/axsched/ax/modules/scheduler/cron"
)

func randomChoice(rng *rand.Rand) domain.Choice {
	kinds := domain.ChoiceKinds()
	c := domain.Choice{Kind: kinds[rng.IntN(len(kinds))]}
	n := func(least, most int) string { return strconv.Itoa(least + rng.IntN(most-least+1)) }
	if c.Kind.Timed() {
		c.Time = time.Date(2026, 1, 1, rng.IntN(24), rng.IntN(60), 0, 0, time.UTC).Format("15:04")
	}
	switch c.Kind {
	case domain.ChoiceMinutes:
		c.Minutes = n(1, 29)
	case domain.ChoiceHourly:
		c.Minute = n(0, 59)
	case domain.ChoiceWeekly:
		for d := range 7 {
			if rng.IntN(2) == 0 {
				c.Weekdays = append(c.Weekdays, strconv.Itoa(d))
			}
		}
		if len(c.Weekdays) == 0 || len(c.Weekdays) == 7 || reflect.DeepEqual(c.Weekdays, []string{"1", "2", "3", "4", "5"}) {
			c.Weekdays = []string{"3"}
		}
	case domain.ChoiceMonthly:
		c.Day = n(1, 31)
	case domain.ChoiceNth:
		c.Nth, c.Weekday = []string{"1", "2", "3", "4", "5", "last"}[rng.IntN(6)], n(0, 6)
	case domain.ChoiceOnce:
		c.At = time.Date(2027, 1, 1, 0, rng.IntN(500_000), 0, 0, time.UTC).Format("2006-01-02T15:04")
	case domain.ChoiceEvery:
		c.Every = []string{"90s", "10m", "7h", "1d", "500ms", "36h"}[rng.IntN(6)]
	case domain.ChoiceOwn:
		c.Cron = []string{"0 0 13 * 5", "0 9-17 * * 1-5", "0 0 9 1W * ?", "*/7 9 * * *", "0 0 1 1 *", "30 7/24 * * *"}[rng.IntN(6)]
	}
	return c
}

// scheduleOf reads what Written gives, as the job file does.
func scheduleOf(t *testing.T, key, value string, zone *time.Location) domain.Schedule {
	t.Helper()
	switch key {
	case "cron":
		return cronOf(value)
	case "every":
		if days, err := strconv.Atoi(value[:len(value)-1]); err == nil && value[len(value)-1] == 'd' {
			value = strconv.Itoa(days*24) + "h"
		}
		d, err := time.ParseDuration(value)
		if err != nil {
			t.Fatal(err)
		}
		return domain.Schedule{Kind: domain.ScheduleEvery, EveryMs: d.Milliseconds()}
	case "at":
		at, err := time.ParseInLocation("2006-01-02T15:04", value, zone)
		if err != nil {
			t.Fatal(err)
		}
		return domain.Schedule{Kind: domain.ScheduleAt, AtMs: at.UnixMilli()}
	}
	return domain.Schedule{Kind: domain.ScheduleNone}
}

// TestAChoiceOpensAsItself: what was chosen is what the form shows when it opens again.
func TestAChoiceOpensAsItself(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 52))
	zone := mustZone(t, "Asia/Shanghai")
	seen := map[domain.ChoiceKind]int{}
	for range 5000 {
		c := randomChoice(rng)
		key, value, wrong := Wording{}.Written(c)
		if wrong != "" {
			t.Fatalf("%+v: %s %s", c, wrong, value)
		}
		if c.Kind == domain.ChoiceOwn && value == "30 7/24 * * *" {
			continue // refused by cron
		}
		if got := (Wording{}).Choice(scheduleOf(t, key, value, zone), zone); !reflect.DeepEqual(got, c) {
			t.Fatalf("%+v is written %s: %q and opens as %+v", c, key, value, got)
		}
		seen[c.Kind]++
	}
	if len(seen) != len(domain.ChoiceKinds()) {
		t.Errorf("seen: %v", seen)
	}
}

// TestAnExpressionThatOpensAsAChoiceFiresAlike: opening and saving changes no fire.
func TestAnExpressionThatOpensAsAChoiceFiresAlike(t *testing.T) {
	rng := rand.New(rand.NewPCG(53, 54))
	zone := mustZone(t, "Europe/Berlin")
	kinds := map[domain.ChoiceKind]int{}
	for range 8000 {
		expr := crowded(rng)
		c := Wording{}.Choice(cronOf(expr), zone)
		kinds[c.Kind]++
		_, value, _ := Wording{}.Written(c)
		if c.Kind != domain.ChoiceOwn {
			sameFires(t, string(c.Kind), expr, value, zone)
		} else if value != expr {
			t.Fatalf("%q became %q", expr, value)
		}
	}
	if len(kinds) < 8 {
		t.Errorf("kinds: %v", kinds)
	}
}

// TestWritingsOfOneChoice: the same choice, however it was written.
func TestWritingsOfOneChoice(t *testing.T) {
	at := func(kind domain.ChoiceKind, time string) domain.Choice { return domain.Choice{Kind: kind, Time: time} }
	nth := domain.Choice{Kind: domain.ChoiceNth, Time: "09:00", Nth: "last", Weekday: "5"}
	for expr, want := range map[string]domain.Choice{
		"30 7 * * 1-5": at(domain.ChoiceWorkdays, "07:30"), "30 7 * * MON-FRI": at(domain.ChoiceWorkdays, "07:30"), "30 07 * * 1,2,3,4,5": at(domain.ChoiceWorkdays, "07:30"),
		"0 30 7 ? * 2-6": at(domain.ChoiceWorkdays, "07:30"), "0 30 7 * * 1-5": at(domain.ChoiceWorkdays, "07:30"), "0 30 7 ? * MON-FRI *": at(domain.ChoiceWorkdays, "07:30"),
		"@daily": at(domain.ChoiceDaily, "00:00"), "0 2 * * *": at(domain.ChoiceDaily, "02:00"), "0 2 1-31 * *": at(domain.ChoiceDaily, "02:00"), "0 2 * * 0-6": at(domain.ChoiceDaily, "02:00"),
		"@weekly": {Kind: domain.ChoiceWeekly, Time: "00:00", Weekdays: []string{"0"}}, "0 0 * * 7": {Kind: domain.ChoiceWeekly, Time: "00:00", Weekdays: []string{"0"}},
		"@hourly": {Kind: domain.ChoiceHourly, Minute: "0"}, "*/15 * * * *": {Kind: domain.ChoiceMinutes, Minutes: "15"}, "0/15 * * * *": {Kind: domain.ChoiceMinutes, Minutes: "15"},
		"0,15,30,45 * * * *": {Kind: domain.ChoiceMinutes, Minutes: "15"}, "* * * * *": {Kind: domain.ChoiceMinutes, Minutes: "1"},
		"@monthly": {Kind: domain.ChoiceMonthly, Time: "00:00", Day: "1"}, "0 0 9 L * ?": at(domain.ChoiceMonthEnd, "09:00"), "0 0 9 L-0 * ?": at(domain.ChoiceMonthEnd, "09:00"),
		"0 0 9 LW * ?": at(domain.ChoiceEndWorkday, "09:00"), "0 0 9 ? * 6L": nth, "0 0 9 ? * FRIL": nth, "@every 5m": {Kind: domain.ChoiceEvery, Every: "5m"},
		"0,15,30,45 0-23 * * *": {Kind: domain.ChoiceOwn, Cron: "0,15,30,45 0-23 * * *"}, "0 2 * 6 *": {Kind: domain.ChoiceOwn, Cron: "0 2 * 6 *"}, "15 0 2 * * *": {Kind: domain.ChoiceOwn, Cron: "15 0 2 * * *"},
		"0 0 9 L * ? 2027": {Kind: domain.ChoiceOwn, Cron: "0 0 9 L * ? 2027"}, "0 0 1 * 5": {Kind: domain.ChoiceOwn, Cron: "0 0 1 * 5"}, "5/15 * * * *": {Kind: domain.ChoiceOwn, Cron: "5/15 * * * *"},
	} {
		if got := (Wording{}).Choice(cronOf(expr), time.UTC); !reflect.DeepEqual(got, want) {
			t.Errorf("%q opens as %+v, want %+v", expr, got, want)
		}
	}
}

// TestMomentsOpenAsTheyAre: also those that the wall clock shows twice.
func TestMomentsOpenAsTheyAre(t *testing.T) {
	berlin := mustZone(t, "Europe/Berlin")
	for text, want := range map[string]string{"2026-02-03T04:05:00+01:00": "2026-02-03T04:05", "2026-02-03T04:05:06+01:00": "2026-02-03T04:05:06",
		"2026-02-03T04:05:06.007+01:00": "2026-02-03T04:05:06.007+01:00", "2026-10-25T02:30:00+02:00": "2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00": "2026-10-25T02:30:00+01:00"} {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		if got := (Wording{}).Choice(domain.Schedule{Kind: domain.ScheduleAt, AtMs: at.UnixMilli()}, berlin); got.Kind != domain.ChoiceOnce || got.At != want {
			t.Errorf("%s opens as %q, want %q", text, got.At, want)
		}
	}
}

func TestWhatCanNotBeWritten(t *testing.T) {
	for _, c := range []struct {
		c     domain.Choice
		field string
	}{
		{domain.Choice{Kind: domain.ChoiceMinutes, Minutes: "0"}, "minutes"}, {domain.Choice{Kind: domain.ChoiceMinutes, Minutes: "60"}, "minutes"}, {domain.Choice{Kind: domain.ChoiceMinutes}, "minutes"},
		{domain.Choice{Kind: domain.ChoiceHourly, Minute: "x"}, "minute"}, {domain.Choice{Kind: domain.ChoiceDaily, Time: "25:00"}, "time"}, {domain.Choice{Kind: domain.ChoiceDaily, Time: "7"}, "time"},
		{domain.Choice{Kind: domain.ChoiceDaily, Time: "07:30:15"}, "time"}, {domain.Choice{Kind: domain.ChoiceWeekly, Time: "07:30"}, "weekdays"}, {domain.Choice{Kind: domain.ChoiceWeekly, Time: "07:30", Weekdays: []string{"7"}}, "weekdays"},
		{domain.Choice{Kind: domain.ChoiceMonthly, Time: "07:30", Day: "32"}, "day"}, {domain.Choice{Kind: domain.ChoiceNth, Time: "07:30", Nth: "6", Weekday: "1"}, "nth"},
		{domain.Choice{Kind: domain.ChoiceNth, Time: "07:30", Nth: "last"}, "weekday"}, {domain.Choice{Kind: domain.ChoiceOnce, At: " "}, "at"}, {domain.Choice{Kind: domain.ChoiceEvery}, "every"},
		{domain.Choice{Kind: domain.ChoiceOwn}, "cron"}, {domain.Choice{Kind: "fortnightly"}, "when"},
	} {
		_, said, field := Wording{}.Written(c.c)
		if field != c.field || !i18n.Has(i18n.English, said) || !i18n.Has(i18n.Chinese, said) {
			t.Errorf("%+v: field %q, want %q, said %q", c.c, field, c.field, said)
		}
	}
}

// The form warns of what people may not expect. (J-A9, J-A11, J-A26, G-A10, G-A12)
func TestCautions(t *testing.T) {
	berlin := mustZone(t, "Europe/Berlin")
	for expr, want := range map[string][]string{
		"0 2 * * *": {"clock_made_up 2026-03-29 03:00 02:00", "clock_once 2026-10-25"}, "30 7 * * *": nil, "*/5 * * * *": nil, "0 * * * *": nil, "* * * * *": nil,
		"*/15 2 * * *": {"clock_skipped 2026-03-29", "clock_twice 2026-10-25"}, "0 */2 * * *": {"clock_skipped 2026-03-29", "clock_twice 2026-10-25"}, "30 2 * * 1-5": nil,
		"0 4 31 * *": {"short_months 31 2, 4, 6, 9, 11"}, "0 4 30 * *": {"short_months 30 2"}, "0 4 29 * *": {"leap_day"}, "0 4 28 * *": nil, "0 4 29 3 *": nil, "0 4 31 1,3 *": nil, "0 4 15,31 * *": {"short_months 31"},
		"0 0 4 31W * ?": {"short_months 31"}, "0 0 4 L * ?": nil, "0 0 4 L-30 * ?": {"short_last 2, 4, 6, 9, 11 5 30"}, "0 0 4 L-28 * ?": {"leap_day"}, "0 4 1-31 * *": nil, "0 4 16-31 * *": nil,
		"*/7 * * * *": {"restarts_hour 7 56"}, "*/35 * * * *": {"restarts_hour 35 35"}, "*/59 * * * *": {"restarts_hour 59"}, "*/31 * * * *": {"restarts_hour 31"}, "*/30 * * * *": nil, "0,45 * * * *": nil, "0 0,18 * * *": nil, "0 */13 * * *": {"restarts_day 13 13"}, "0 4 */16 * *": {"restarts_month 16 17"}, "0 4 1 */7 *": {"restarts_year 7 8"}, "*/45 * * * * *": {"often 2", "restarts_minute 45"}, "*/25 * * * *": {"restarts_hour 25 50"}, "*/7 9 * * *": nil, "*/7 22,23 * * *": {"restarts_hour"}, "*/20 * * * *": nil,
		"0 */5 * * *": {"restarts_day 5 20"}, "0 4 */2 * *": {"restarts_month 2 31"}, "0 0 4 1/9 * ?": {"restarts_month 9 28"}, "0 4 1,15 * *": nil, "0 4 1 */5 *": {"restarts_year 5 11"}, "0 4 1 */3 *": nil,
		"*/7 * * * * *": {"often 9", "restarts_minute 7 56"}, "*/10 * * * * *": {"often 6"}, "15 * * * * *": nil, "* * * * * *": {"often 60"}, "* * */4 * *": {"leap_day", "restarts_month 4 29"}, "* * */4 * * *": {"often 60"}, "@every 10s": {"often 6"}, "@every 1m": nil,
		"0 4 13 * 5": {"either"}, "0 4 */2 * 1": {"restarts_month"}, "0 4 1-31 * 1": nil, "nonsense": nil,
	} {
		got := Wording{}.Cautions(cronOf(expr), berlin, start)
		if len(got) != len(want) {
			t.Errorf("%q: %+v, want %v", expr, got, want)
			continue
		}
		for i, c := range got {
			checkCaution(t, expr, c, want[i])
		}
	}
	if got := (Wording{}).Cautions(domain.Schedule{Kind: domain.ScheduleEvery, EveryMs: 500}, berlin, start); len(got) != 1 || got[0].Args["n"] != "120" {
		t.Errorf("every 500 ms: %+v", got)
	}
	for ms, n := range map[int64]string{45_000: "2", 700: "86", 20_000: "3", 30_000: "2", 59_999: "2"} { // at most in any minute
		if got := (Wording{}).Cautions(domain.Schedule{Kind: domain.ScheduleEvery, EveryMs: ms}, berlin, start); len(got) != 1 || got[0].Args["n"] != n {
			t.Errorf("every %d ms: %+v, want %s", ms, got, n)
		}
	}
	whole := Wording{}.Cautions(cronOf("30 2 * * *"), mustZone(t, "Pacific/Apia"), time.Date(2011, 12, 1, 0, 0, 0, 0, time.UTC))
	if len(whole) == 0 || whole[0].Args["before"] != "2011-12-30 00:00" || whole[0].Args["after"] != "2011-12-31 00:00" { // a whole day is left out
		t.Errorf("Apia: %+v", whole)
	}
	if got := (Wording{}).Cautions(cronOf("0 2 * * *"), mustZone(t, "Asia/Shanghai"), start); len(got) != 0 {
		t.Errorf("Shanghai has no clock changes: %+v", got)
	}
}

// checkCaution wants the id and, among the arguments, each other word; and that both
// languages have the sentence with nothing missing.
func checkCaution(t *testing.T, expr string, c domain.Caution, want string) {
	t.Helper()
	said := c.ID
	for _, name := range []string{"day", "months", "step", "last", "n", "days", "date", "after", "time"} {
		if v := c.Args[name]; v != "" {
			said += " " + v
		}
	}
	if len(said) < len(want) || said[:len(want)] != want {
		t.Errorf("%q: %q, want %q", expr, said, want)
	}
	var pairs []any
	for k, v := range c.Args {
		pairs = append(pairs, k, v)
	}
	for _, lang := range i18n.Langs() {
		key := "problem.cron." + c.ID
		text := i18n.In(lang, key, pairs...)
		if !i18n.Has(lang, key) || text != i18n.In(lang, key, append(pairs, "more", "x")...) || text == "" || []rune(text)[0] == '⟦' {
			t.Errorf("%s %s: %q", lang, key, text)
		}
	}
}

// TestCautionsOfClocksAreWhatHappens: the day a caution names, the fires are as it says. (J-A18, G-A1, G-A2)
func TestCautionsOfClocksAreWhatHappens(t *testing.T) {
	berlin := mustZone(t, "Europe/Berlin")
	for _, c := range []struct {
		expr, date string
		fires      []string
	}{
		{"30 2 * * *", "2026-03-29", []string{"03:00 +02"}}, {"30 2 * * *", "2026-10-25", []string{"02:30 +02"}},
		{"*/30 2 * * *", "2026-03-29", nil}, {"*/30 2 * * *", "2026-10-25", []string{"02:00 +02", "02:30 +02", "02:00 +01", "02:30 +01"}},
	} {
		s, err := cron.Parse(c.expr, cron.Auto)
		if err != nil {
			t.Fatal(err)
		}
		day, _ := time.ParseInLocation(time.DateOnly, c.date, berlin)
		var got []string
		for _, at := range s.Between(day, day.AddDate(0, 0, 1), berlin, 9) {
			got = append(got, at.Format("15:04 -07"))
		}
		if !reflect.DeepEqual(got, c.fires) {
			t.Errorf("%q on %s: %v, want %v", c.expr, c.date, got, c.fires)
		}
	}
}
