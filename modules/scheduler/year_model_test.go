package scheduler

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/zone"
)

// The year is expanded a second time here, without anything of what fires: minute by minute
// by the clock on the wall of each zone, each schedule as a predicate written beside its text.

// yearZones have each kind of change in 2024: an hour at 1, 2 and 3 in the night, at midnight (Cairo,
// Havana, Beirut), half an hour, two hours, at a quarter to three, and one that no flag announces (Almaty).
func yearZones() []string {
	return []string{"UTC", "Asia/Shanghai", "Asia/Almaty", "Europe/Berlin", "America/New_York", "America/St_Johns", "Australia/Lord_Howe",
		"Antarctica/Troll", "Africa/Cairo", "America/Havana", "Asia/Beirut", "Pacific/Chatham"}
}

// clockFace is a minute as a clock and a calendar on the wall show it.
type clockFace struct {
	minute, hour, day, month, weekday, days int8 // weekday 0 = Sunday; days of the month
	again                                   bool // this minute was on the wall before: the clocks were put back
	year                                    int16
}

func faceOf(wall int64) clockFace {
	t := time.Unix(wall*60, 0).UTC()
	return clockFace{minute: int8(t.Minute()), hour: int8(t.Hour()), day: int8(t.Day()), month: int8(t.Month()), weekday: int8(t.Weekday()),
		days: int8(time.Date(t.Year(), t.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()), year: int16(t.Year())}
}

// wallYear is all minutes of the year in one zone, and those that no clock showed.
type wallYear struct {
	first   int64 // minutes since 1970 of faces[0]
	faces   []clockFace
	skipped map[int][]clockFace // by the minute after the gap
}

func newWallYear(t *testing.T, name string, from, to time.Time) *wallYear {
	t.Helper()
	loc, err := zone.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	y := &wallYear{first: from.Unix() / 60, skipped: map[int][]clockFace{}}
	highest := int64(0)
	for m := y.first - 180; m <= to.Unix()/60; m++ {
		at := time.Unix(m*60, 0).In(loc)
		_, offset := at.Zone()
		wall := m + int64(offset)/60
		if m >= y.first {
			f := faceOf(wall)
			f.again = wall <= highest
			for w := highest + 1; w < wall; w++ {
				y.skipped[len(y.faces)] = append(y.skipped[len(y.faces)], faceOf(w))
			}
			y.faces = append(y.faces, f)
		}
		highest = max(highest, wall)
	}
	return y
}

// repeats is the middle of each stretch of time that came a second time.
func (y *wallYear) repeats() []time.Time {
	var out []time.Time
	for i := 0; i < len(y.faces); i++ {
		first := i
		for i < len(y.faces) && y.faces[i].again {
			i++
		}
		if i > first {
			out = append(out, time.Unix((y.first+int64(first+i)/2)*60, 0).UTC())
		}
	}
	return out
}

// yearRule is a schedule: its text, and what it means.
type yearRule struct {
	expr, dialect string
	fits          func(f clockFace) bool
	seconds       []int64 // of a fitting minute
	interval      bool    // its time fields begin with a star
	every         time.Duration
	at            time.Time
}

func (r yearRule) schedule() domain.Schedule {
	switch {
	case !r.at.IsZero():
		return domain.Schedule{Kind: domain.ScheduleAt, AtMs: r.at.UnixMilli()}
	case r.every != 0 && r.expr == "":
		return domain.Schedule{Kind: domain.ScheduleEvery, EveryMs: r.every.Milliseconds()}
	}
	return domain.Schedule{Kind: domain.ScheduleCron, Expr: r.expr, Dialect: r.dialect}
}

// yearRuleKinds is how many kinds of schedule drawYearRule knows.
const yearRuleKinds = 17

// drawYearRule gives a schedule of a kind; now is for those that count from it. If not dense, what fires
// daily does so in the months in which clocks change, and what fires more often only on their Sundays. Dense ones share
// a few minutes of the hour, so that many are due at once and a year of them is walked in minutes.
func drawYearRule(dice *rand.Rand, kind int, now time.Time, dense bool) yearRule {
	h, m := int8(dice.IntN(24)), int8(30*dice.IntN(2))
	if dice.IntN(2) == 0 {
		h = int8(dice.IntN(4)) // when clocks change
	}
	months, inMonths := "3-4,10-11", func(f clockFace) bool { return f.month == 3 || f.month == 4 || f.month == 10 || f.month == 11 }
	often, oftenFits := "* "+months+" 0", func(f clockFace) bool { return inMonths(f) && f.weekday == 0 }
	if dense {
		months, inMonths = "*", func(clockFace) bool { return true }
		often, oftenFits = "* * *", inMonths
		m = []int8{0, 17, 30, 59}[dice.IntN(4)]
	}
	clock := func(f clockFace) bool { return f.hour == h && f.minute == m }
	unix := func(days string, fits func(f clockFace) bool) yearRule {
		return yearRule{expr: fmt.Sprintf("%d %d %s", m, h, days), dialect: "unix", seconds: []int64{0},
			fits: func(f clockFace) bool { return clock(f) && fits(f) }}
	}
	quartz := func(days string, fits func(f clockFace) bool) yearRule {
		r := unix(days, fits)
		r.expr, r.dialect = fmt.Sprintf("0 %d %d %s", m, h, days), "quartz"
		return r
	}
	switch kind {
	case 0:
		return unix("* "+months+" *", inMonths)
	case 1, 11:
		return drawHourly(dice, m, kind == 1, often, oftenFits)
	case 2:
		return yearRule{expr: "*/30 0-2 " + often, dialect: "unix", seconds: []int64{0}, interval: true,
			fits: func(f clockFace) bool { return f.minute%30 == 0 && f.hour <= 2 && oftenFits(f) }}
	case 3:
		return unix("* apr mon-fri", func(f clockFace) bool { return f.month == 4 && f.weekday >= 1 && f.weekday <= 5 })
	case 4:
		d := int8(29 + dice.IntN(3))
		return unix(fmt.Sprintf("%d * *", d), func(f clockFace) bool { return f.day == d })
	case 5:
		return unix("13 * 5", func(f clockFace) bool { return f.day == 13 || f.weekday == 5 })
	case 6:
		return unix("*/2 * 1", func(f clockFace) bool { return f.day%2 == 1 && f.weekday == 1 })
	case 7:
		n := int8(dice.IntN(5))
		return quartz(strings.TrimSuffix(fmt.Sprintf("L-%d", n), "-0")+" * ?", func(f clockFace) bool { return f.day == f.days-n })
	case 8:
		return drawWeekdayOfMonth(dice, quartz)
	case 9:
		return drawNearest(dice, quartz)
	case 10:
		return unix("29 2,3 *", func(f clockFace) bool { return f.day == 29 && (f.month == 2 || f.month == 3) })
	case 12:
		return yearRule{expr: "0,30 0-3 " + often, dialect: "unix", seconds: []int64{0},
			fits: func(f clockFace) bool { return f.minute%30 == 0 && f.hour <= 3 && oftenFits(f) }}
	case 13:
		r := unix(often, oftenFits)
		r.expr, r.dialect, r.seconds = "15,45 "+r.expr, "seconds", []int64{15, 45}
		return r
	case 14:
		return drawDescriptor(dice)
	case 15:
		r := yearRule{every: time.Duration(50+dice.IntN(400))*time.Hour + time.Duration(dice.IntN(3600_000))*time.Millisecond}
		if dice.IntN(2) == 0 {
			r.every = r.every.Truncate(time.Second)
			r.expr, r.dialect = "@every "+r.every.String(), "unix"
		}
		return r
	}
	return yearRule{at: now.Add(time.Minute + time.Duration(dice.Int64N(int64(100*24*time.Hour)))).Truncate(time.Second)}
}

// drawHourly fires at a minute of each hour or each second one: with a star an interval, with a range fixed times.
func drawHourly(dice *rand.Rand, m int8, star bool, often string, oftenFits func(clockFace) bool) yearRule {
	step := int8(1 + dice.IntN(2))
	text := "0-23"
	if star {
		text = "*"
	}
	if step > 1 {
		text += fmt.Sprintf("/%d", step)
	}
	return yearRule{expr: fmt.Sprintf("%d %s %s", m, text, often), dialect: "unix", seconds: []int64{0}, interval: star,
		fits: func(f clockFace) bool { return f.minute == m && f.hour%step == 0 && oftenFits(f) }}
}

func drawWeekdayOfMonth(dice *rand.Rand, quartz func(string, func(clockFace) bool) yearRule) yearRule {
	wd := int8(dice.IntN(7)) // 0 = Sunday; quartz counts from 1
	if dice.IntN(3) == 0 {
		return quartz(fmt.Sprintf("? * %dL", wd+1), func(f clockFace) bool { return f.weekday == wd && f.day > f.days-7 })
	}
	n := int8(1 + dice.IntN(5))
	return quartz(fmt.Sprintf("? * %d#%d", wd+1, n), func(f clockFace) bool { return f.weekday == wd && (f.day-1)/7 == n-1 })
}

// drawNearest fires on the working day nearest to a day of the month, which stays in the month.
func drawNearest(dice *rand.Rand, quartz func(string, func(clockFace) bool) yearRule) yearRule {
	if dice.IntN(3) == 0 {
		return quartz("LW * ?", func(f clockFace) bool {
			return f.weekday >= 1 && f.weekday <= 5 && (f.day == f.days || f.weekday == 5 && f.day >= f.days-2)
		})
	}
	n := []int8{1, 15, 30, 31}[dice.IntN(4)]
	return quartz(fmt.Sprintf("%dW * ?", n), func(f clockFace) bool {
		if n > f.days || f.weekday == 0 || f.weekday == 6 {
			return false
		}
		switch f.day - n {
		case 0:
			return true
		case -1: // the day itself is a Saturday
			return f.weekday == 5
		case 1: // or a Sunday
			return f.weekday == 1
		case 2: // a Saturday on the first
			return n == 1 && f.weekday == 1
		case -2: // a Sunday on the last
			return n == f.days && f.weekday == 5
		}
		return false
	})
}

func drawDescriptor(dice *rand.Rand) yearRule {
	midnight := func(f clockFace) bool { return f.hour == 0 && f.minute == 0 }
	r := yearRule{dialect: "unix", seconds: []int64{0}}
	switch dice.IntN(4) {
	case 0:
		r.expr, r.fits = "@daily", midnight
	case 1:
		r.expr, r.fits = "@weekly", func(f clockFace) bool { return midnight(f) && f.weekday == 0 }
	case 2:
		r.expr, r.fits = "@monthly", func(f clockFace) bool { return midnight(f) && f.day == 1 }
	case 3:
		r.expr, r.fits = "@yearly", func(f clockFace) bool { return midnight(f) && f.day == 1 && f.month == 1 }
	}
	return r
}

// yearStay is a stretch of time, after from and up to to, in which a rule was in force.
type yearStay struct {
	yearRule
	zone     string
	biz      domain.BizDateRule
	anchor   time.Time // of every
	from, to time.Time
}

// yearFire is a fire in milliseconds since 1970 and the business date of it.
type yearFire struct {
	ms   int64
	date string
}

// fires expands a stay.
func (s yearStay) fires(y *wallYear) []yearFire {
	var out []yearFire
	add := func(ms int64) {
		if at := time.UnixMilli(ms); at.After(s.from) && !at.After(s.to) {
			out = append(out, yearFire{ms, s.date(y.faces[ms/60_000-y.first])})
		}
	}
	if !s.at.IsZero() {
		add(s.at.UnixMilli())
		return out
	}
	if s.every != 0 {
		for ms := s.anchor.UnixMilli() + s.every.Milliseconds(); ms <= s.to.UnixMilli(); ms += s.every.Milliseconds() {
			add(ms)
		}
		return out
	}
	for i := int(s.from.Unix()/60 - y.first); i < len(y.faces) && (y.first+int64(i))*60 <= s.to.Unix(); i++ {
		ms := (y.first + int64(i)) * 60_000
		made := !s.interval && slices.ContainsFunc(y.skipped[i], s.fits)
		if made {
			add(ms)
		}
		if f := y.faces[i]; s.fits(f) && (s.interval || !f.again) {
			for _, sec := range s.seconds {
				if sec != 0 || !made {
					add(ms + sec*1000)
				}
			}
		}
	}
	return out
}

func (s yearStay) date(f clockFace) string {
	day := time.Date(int(f.year), time.Month(f.month), int(f.day), 0, 0, 0, 0, time.UTC)
	switch s.biz {
	case domain.BizDateTMinus1:
		day = day.AddDate(0, 0, -1)
	case domain.BizDateMonthEnd:
		day = time.Date(int(f.year), time.Month(f.month), int(f.days), 0, 0, 0, 0, time.UTC)
	}
	return day.Format("2006-01-02")
}
