package calendar

import (
	"maps"
	"slices"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// yearsOf is the years of which the days say the special ones: those in which they lie, without one into which
// holidays of its neighbour only reach over the turn of the year. A whole calendar counts the years between as well.
func (s *Sheet) yearsOf() []int {
	lengths := map[int]int{}
	for d := range s.Days {
		y, _, _ := d.Date()
		lengths[y]++
	}
	all := slices.Sorted(maps.Keys(lengths))
	own := slices.DeleteFunc(slices.Clone(all), func(y int) bool { return s.over(y) == lengths[y] })
	if len(own) == 0 { // each only reaches into the other: then both are meant
		own = all
	}
	if s.Format != YAML || len(own) == 0 {
		return own
	}
	var out []int
	for y := own[0]; y <= own[len(own)-1]; y++ {
		out = append(out, y)
	}
	return out
}

// over is how many days of a year belong to a stretch that reaches over one of its ends.
func (s *Sheet) over(year int) int {
	first, after := domain.NewBizDate(year, time.January, 1), domain.NewBizDate(year+1, time.January, 1)
	reach := func(outside, from domain.BizDate, step int) (n int) {
		if _, there := s.Days[outside]; !there {
			return 0
		}
		for d := from; !d.Before(first) && d.Before(after); d = d.AddDays(step) {
			if _, there := s.Days[d]; !there {
				break
			}
			n++
		}
		return n
	}
	return reach(first.AddDays(-1), first, 1) + reach(after, after.AddDays(-1), -1)
}

// belongs reports whether a calendar of the years may have the special day: it lies in one of them, or
// in a stretch of special days without a gap that reaches over the turn of the year into one.
func belongs(days map[domain.BizDate]domain.CalendarDay, years []int, d domain.BizDate) bool {
	y, _, _ := d.Date()
	if slices.Contains(years, y) {
		return true
	}
	for _, step := range []int{-1, 1} {
		if !slices.Contains(years, y+step) {
			continue
		}
		for at := d; ; at = at.AddDays(step) {
			if _, there := days[at]; !there {
				break
			}
			if other, _, _ := at.Date(); other != y {
				return true
			}
		}
	}
	return false
}

// prune takes away the special days that belong to the calendar no more: what reached over a turn of the year and is cut off.
func prune(c *domain.Calendar) {
	whole := maps.Clone(c.Days)
	maps.DeleteFunc(c.Days, func(d domain.BizDate, _ domain.CalendarDay) bool { return !belongs(whole, c.Years, d) })
}
