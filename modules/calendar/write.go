package calendar

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// Write gives a calendar as YAML, which reads back as the same: canonical, so that equal calendars are
// equal texts.
func Write(c *domain.Calendar, project string) string {
	var b strings.Builder
	b.WriteString("version: v1\ncalendar:\n")
	line := func(key, value string) { b.WriteString("  " + key + ": " + value + "\n") }
	if project != "" && project != domain.DefaultProject {
		line("project", scalar(project))
	}
	line("name", scalar(c.Name))
	if c.Title != "" {
		line("title", scalar(c.Title))
	}
	var rest, years []string
	for d, off := range c.Rest {
		if off {
			rest = append(rest, strings.ToLower(time.Weekday(d).String()[:3]))
		}
	}
	for _, y := range c.Years {
		years = append(years, itoa(y))
	}
	line("rest", "["+strings.Join(rest, ", ")+"]")
	line("years", "["+strings.Join(years, ", ")+"]")
	writeDays(&b, "holidays", c.Days, false)
	writeDays(&b, "workdays", c.Days, true)
	return b.String()
}

// writeDays writes the days of one kind, neighbours that say the same as a stretch.
func writeDays(b *strings.Builder, key string, days map[domain.BizDate]domain.CalendarDay, work bool) {
	var dates []domain.BizDate
	for _, d := range slices.SortedFunc(maps.Keys(days), domain.BizDate.Compare) {
		if days[d].Work == work {
			dates = append(dates, d)
		}
	}
	if len(dates) == 0 {
		return
	}
	b.WriteString("  " + key + ":\n")
	for i := 0; i < len(dates); {
		first, label, n := dates[i], days[dates[i]].Label, 1
		for i++; i < len(dates) && n < 366 && dates[i] == first.AddDays(n) && days[dates[i]].Label == label; i++ {
			n++
		}
		b.WriteString("    " + first.String())
		if n > 1 {
			b.WriteString(".." + first.AddDays(n-1).String())
		}
		b.WriteString(":")
		if label != "" {
			b.WriteString(" " + scalar(label))
		}
		b.WriteString("\n")
	}
}

var plain = regexp.MustCompile(`^[\p{L}_][\p{L}\p{Nd}_]*(?:[ .-][\p{L}_][\p{L}\p{Nd}_]*)*$`)

// scalar writes a text, quoted only where it must be.
func scalar(s string) string {
	words := []string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}
	if plain.MatchString(s) && !slices.Contains(words, strings.ToLower(s)) {
		return s
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err) // a string always encodes
	}
	return strings.TrimSuffix(b.String(), "\n")
}
