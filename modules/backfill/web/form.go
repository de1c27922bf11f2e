package web

import (
	"cmp"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/views/backfills"
)

// formOf reads the form's fields. Dates that were picked in a list are single dates.
func formOf(q url.Values) backfills.Form {
	f := backfills.Form{Job: strings.TrimSpace(q.Get("job")), Reach: cmp.Or(q.Get("reach"), "alone"), From: q.Get("from"), To: q.Get("to"), Dates: strings.TrimSpace(q.Get("dates")),
		Wanted: cmp.Or(q.Get("wanted"), "missing"), Degree: cmp.Or(q.Get("degree"), "1"), Order: cmp.Or(q.Get("order"), "old"), Failure: cmp.Or(q.Get("failure"), "stop"),
		NotBetween: strings.TrimSpace(q.Get("not_between")), Params: q.Get("params"), Reason: strings.TrimSpace(q.Get("reason")), Fires: q["fire"],
		Since: q.Get("since"), Until: q.Get("until")}
	if picked := q["pick"]; len(picked) > 0 {
		f.Dates = strings.Join(append(dateWords(f.Dates), picked...), ", ")
	}
	return f
}

func dateWords(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(",;，、 \t\r\n", r) })
}

// askedOf makes of the form what a program would ask with.
func askedOf(f backfills.Form) (asked, error) {
	a := asked{Job: f.Job, Reach: f.Reach, From: f.From, To: f.To, Dates: dateWords(f.Dates), Wanted: f.Wanted, NewestFirst: f.Order == "new",
		GoesOn: f.Failure == "go_on", NotBetween: f.NotBetween, Reason: f.Reason}
	n, err := strconv.Atoi(f.Degree)
	if err != nil || n < 1 {
		return a, domain.Fail(domain.Invalid, "the degree is a number from 1, not %q", f.Degree).At("degree").Coded("backfill.bad_degree", "given", f.Degree, "max", "100")
	}
	a.Degree = n
	for _, text := range f.Fires {
		at, err := moment(text)
		if err != nil {
			return a, err
		}
		a.Fires = append(a.Fires, at)
	}
	if a.Since, err = moment(f.Since); err != nil {
		return a, err
	}
	if a.Until, err = moment(f.Until); err != nil {
		return a, err
	}
	for line := range strings.Lines(f.Params) {
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) == "" {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			return a, domain.Fail(domain.Invalid, "the line %q is not name=value", line).At("params")
		}
		if a.Params == nil {
			a.Params = map[string]string{}
		}
		a.Params[strings.TrimSpace(name)] = value
	}
	return a, nil
}

// moment reads RFC 3339; empty is the zero time.
func moment(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return at, domain.Fail(domain.Invalid, "%q is no moment", text).At("dates").Coded("backfill.bad_date", "given", text)
	}
	return at, nil
}
