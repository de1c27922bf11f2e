package i18n

import (
	"context"
	"strconv"
	"strings"
	"time"
)

// Number prints n grouped by thousands; both languages use the comma.
func Number(n int64) string { return group(n) }

func group(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if digits[0] == '-' {
		sign, digits = "-", digits[1:]
	}
	var b strings.Builder
	b.WriteString(sign)
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}

// Percent prints a share of 1 with two digits below 1 % and one above.
func Percent(share float64) string {
	digits := 1
	if p := share * 100; p < 1 && p > -1 {
		digits = 2
	}
	return strconv.FormatFloat(share*100, 'f', digits, 64) + "%"
}

// Part is one number with its unit, so that a page can set them apart.
type Part struct{ Value, Unit string }

// DurationParts says d in at most two units: 412 ms, 19.5 s, 3 min 02 s, 1 h 52 min,
// 2 d 3 h. A negative duration is said by its size.
func DurationParts(ctx context.Context, d time.Duration) []Part {
	if d < 0 {
		d = -d
	}
	unit := func(name string) string { return T(ctx, "unit."+name) }
	switch {
	case d < time.Second:
		return []Part{{strconv.FormatInt(d.Milliseconds(), 10), unit("ms")}}
	case d < time.Minute:
		return []Part{{trimZero(d.Seconds()), unit("s")}}
	case d < time.Hour:
		return pair(d, time.Minute, time.Second, unit("min"), unit("s"))
	case d < 24*time.Hour:
		return pair(d, time.Hour, time.Minute, unit("h"), unit("min"))
	}
	return pair(d, 24*time.Hour, time.Hour, unit("d"), unit("h"))
}

func pair(d, big, small time.Duration, bigUnit, smallUnit string) []Part {
	parts := []Part{{strconv.FormatInt(int64(d/big), 10), bigUnit}}
	if rest := int64(d % big / small); rest > 0 {
		parts = append(parts, Part{strconv.FormatInt(rest, 10), smallUnit})
	}
	return parts
}

func trimZero(seconds float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(float64(int64(seconds*10))/10, 'f', 1, 64), ".0")
}

// Duration is DurationParts in one line.
func Duration(ctx context.Context, d time.Duration) string {
	var words []string
	for _, p := range DurationParts(ctx, d) {
		words = append(words, p.Value+" "+p.Unit)
	}
	return strings.Join(words, " ")
}

// Relative says t against the moment of ctx: "3 min ago", "in 2 h 5 min", "now"
// within a second. Without a moment in ctx it is DateTime.
func Relative(ctx context.Context, t time.Time) string {
	now := Now(ctx)
	if now.IsZero() {
		return DateTime(ctx, t)
	}
	gap := t.Sub(now)
	switch {
	case gap > -time.Second && gap < time.Second:
		return T(ctx, "time.now")
	case gap < 0:
		return T(ctx, "time.ago", "d", Duration(ctx, coarse(gap)))
	}
	return T(ctx, "time.in", "d", Duration(ctx, coarse(gap)))
}

// coarse drops what nobody reads in "ago": tenths below a minute, seconds above
// ten minutes.
func coarse(gap time.Duration) time.Duration {
	if gap < 0 {
		gap = -gap
	}
	if gap < 10*time.Minute {
		return gap.Truncate(time.Second)
	}
	return gap.Truncate(time.Minute)
}

// DateTime prints t to the second in the zone of ctx, the same in both languages.
// The zero time reads "–".
func DateTime(ctx context.Context, t time.Time) string { return layout(ctx, t, time.DateTime) }

// Clock prints the time of day of t in the zone of ctx. The zero time reads "–".
func Clock(ctx context.Context, t time.Time) string { return layout(ctx, t, time.TimeOnly) }

// DayMinute prints month, day, hour and minute of t in the zone of ctx, for
// places where the year is plain. The zero time reads "–".
func DayMinute(ctx context.Context, t time.Time) string { return layout(ctx, t, "01-02 15:04") }

func layout(ctx context.Context, t time.Time, form string) string {
	if t.IsZero() {
		return "–"
	}
	return t.In(Zone(ctx)).Format(form)
}

// Weekday names the day of the week of t in t's own zone.
func Weekday(ctx context.Context, t time.Time) string {
	return T(ctx, "weekday."+strconv.Itoa(int(t.Weekday())))
}

// ZoneName says the zone of ctx with its offset at t: "Asia/Shanghai (UTC+8)".
func ZoneName(ctx context.Context, t time.Time) string {
	zone := Zone(ctx)
	name, offset := zone.String(), Offset(t.In(zone))
	if name == "UTC" || name == "" {
		return offset
	}
	return name + " (" + offset + ")"
}

// Offset says how far t's own zone is from UTC at t: "UTC", "UTC+8", "UTC-3:30".
func Offset(t time.Time) string {
	_, seconds := t.Zone()
	if seconds == 0 {
		return "UTC"
	}
	sign := "+"
	if seconds < 0 {
		sign, seconds = "-", -seconds
	}
	text := "UTC" + sign + strconv.Itoa(seconds/3600)
	if minutes := seconds % 3600 / 60; minutes > 0 {
		text += ":" + strconv.Itoa(minutes/10) + strconv.Itoa(minutes%10)
	}
	return text
}
