package plan

import (
	"fmt"
	"strings"
	"time"
)

// Window is a part of each day in which nothing begins, in minutes since midnight: from the
// first, before the second. It may go over midnight. The zero value: no part.
type Window struct{ From, To int }

// ParseWindow reads "08:00-20:00"; "" is no window.
func ParseWindow(text string) (Window, error) {
	if text == "" {
		return Window{}, nil
	}
	from, to, ok := strings.Cut(strings.ReplaceAll(text, " ", ""), "-")
	var w Window
	var err error
	if ok {
		if w.From, err = minutes(from); err == nil {
			w.To, err = minutes(to)
		}
	}
	if !ok || err != nil || w.From == w.To {
		return Window{}, wrong("notBetween", "backfill.bad_window", "%q is no part of a day: write it like 08:00-20:00", text)
	}
	return w, nil
}

func minutes(text string) (int, error) {
	t, err := time.Parse("15:04", text)
	return t.Hour()*60 + t.Minute(), err
}

// String is the form that ParseWindow reads.
func (w Window) String() string {
	if w.From == w.To {
		return ""
	}
	return fmt.Sprintf("%02d:%02d-%02d:%02d", w.From/60, w.From%60, w.To/60, w.To%60)
}

// Holds reports whether the moment lies in it by the clock of the zone.
func (w Window) Holds(at time.Time, zone *time.Location) bool {
	local := at.In(zone)
	m := local.Hour()*60 + local.Minute()
	if w.From <= w.To {
		return w.From <= m && m < w.To
	}
	return m >= w.From || m < w.To
}
