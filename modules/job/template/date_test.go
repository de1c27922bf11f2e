package template

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/axsched/ax/modules/domain"
)

func dateOf(t testing.TB, text string) domain.BizDate {
	t.Helper()
	d, err := domain.ParseBizDate(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// valueOf fills one template in for a business date.
func valueOf(text string, d domain.BizDate, calendar *domain.Calendar) (string, error) {
	spec := domain.JobSpec{Name: "j", Env: map[string]string{"X": text}, Exec: domain.Exec{Type: "noop", Spec: []byte("{}")}}
	r, err := Render(spec, Vars{BizDate: d, Workdays: func() (*domain.Calendar, error) { return calendar, nil }})
	return r.Env["X"], err
}

func TestDatesGoByTheCalendar(t *testing.T) {
	cn := &domain.Calendar{Rest: domain.UsualRest(), Days: map[domain.BizDate]domain.CalendarDay{
		dateOf(t, "2024-02-04"): {Work: true}, dateOf(t, "2024-02-18"): {Work: true}}}
	for d := dateOf(t, "2024-02-10"); d.Before(dateOf(t, "2024-02-18")); d = d.AddDays(1) {
		cn.Days[d] = domain.CalendarDay{}
	}
	for _, c := range []struct{ text, of, want string }{
		{"{{biz_date | month_start}}", "2024-02-29", "2024-02-01"},
		{"{{biz_date | month_end}}", "2024-02-03", "2024-02-29"},
		{"{{biz_date | month_end}}", "2023-02-03", "2023-02-28"},
		{"{{biz_date | month_end}}", "1900-02-03", "1900-02-28"},
		{"{{biz_date-1m | month_end | yyyyMM}}", "2024-03-31", "202402"},
		{"{{biz_date-1m | month_end}}", "2024-03-31", "2024-02-29"},
		{"{{biz_date | month_start | -1d | yyyyMMdd}}", "2024-03-31", "20240229"},
		{"{{ biz_date - 1 m|month_start }}", "2024-01-15", "2023-12-01"},
		{"{{biz_date-1wd}}", "2024-02-19", "2024-02-18"}, // the Sunday before is worked
		{"{{biz_date-2wd}}", "2024-02-19", "2024-02-09"}, // and before it nothing, for eight days
		{"{{biz_date+1wd}}", "2024-02-09", "2024-02-18"},
		{"{{biz_date | month_end | +1wd | -1wd}}", "2024-02-03", "2024-02-29"},
		{"{{biz_date+1y}}", "2024-02-29", "2025-02-28"},
		{"{{biz_date | -12m | +12m}}", "2024-02-29", "2024-02-28"},
		{"{{biz_date-1d}}", "0001-01-02", "0001-01-01"},
		{"{{biz_date+1d}}", "9999-12-30", "9999-12-31"},
	} {
		if got, err := valueOf(c.text, dateOf(t, c.of), cn); err != nil || got != c.want {
			t.Errorf("%s of %s is %q (%v), want %s", c.text, c.of, got, err, c.want)
		}
	}
	for text, of := range map[string]string{"{{biz_date-1d}}": "0001-01-01", "{{biz_date+1m}}": "9999-12-31", "{{biz_date+10000y}}": "2024-01-01", "{{biz_date+10000w | yyyyMMdd}}": "9900-01-01"} {
		if got, err := valueOf(text, dateOf(t, of), nil); err == nil || !strings.Contains(err.Error(), "9999") {
			t.Errorf("%s of %s is %q, want an error", text, of, got)
		}
	}
}

func TestWhatIsNoDate(t *testing.T) {
	for text, id := range map[string]string{
		"{{biz_date | month_ends}}": IDFormat, "{{biz_date | yyyyMM | month_end}}": IDFormat, "{{biz_date | month_end | }}": IDFormat, "{{biz_date | 1d}}": IDFormat,
		"{{biz_date-1x}}": IDShift, "{{biz_date | -1h}}": IDShift, "{{biz_date-1001wd}}": IDShift, "{{biz_date-1d-1d}}": IDUnknown, "{{biz_date | + }}": IDShift,
		"{{biz_date|-1d|-1d|-1d|-1d|-1d|-1d|-1d|-1d|-1d}}": IDShift, "{{expected_time | month_end}}": IDFormat, "{{trace_id | month_end}}": IDNotDate,
	} {
		_, faults := parse(text)
		if len(faults) != 1 || faults[0].ID != id {
			t.Errorf("%s: %v, want %s", text, faults, id)
		}
	}
	if _, faults := parse("{{biz_date | month_ends}}"); faults[0].Word != "month_ends" || len(faults[0].Near) != 2 {
		t.Errorf("what was meant is not known: %+v", faults[0])
	}
}

func TestTwoDatesAreOneVariableOnlyIfEqual(t *testing.T) {
	p, issues := Compile(domain.JobSpec{Name: "j", Exec: domain.Exec{Type: "shell", Spec: []byte(`{"command":"echo {{biz_date-1d}} {{biz_date | -1d}} {{biz_date-1wd}} {{biz_date|month_end}} {{biz_date|month_start}}"}`)}})
	if len(issues) > 0 {
		t.Fatal(issues)
	}
	if len(p.command.vars) != 4 {
		t.Errorf("%d variables, want 4", len(p.command.vars))
	}
}

// Whatever the steps, a date is filled in in its one form or refused, and equals the steps taken
// one by one.
func TestStepsOneByOne(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := domain.NewBizDate(rapid.IntRange(1, 9999).Draw(rt, "year"), time.Month(rapid.IntRange(1, 12).Draw(rt, "month")), rapid.IntRange(1, 28).Draw(rt, "day"))
		text, want := "{{biz_date", d
		for range rapid.IntRange(0, 4).Draw(rt, "steps") {
			one := rapid.SampledFrom([]string{"month_start", "month_end", "-1d", "+31d", "-1m", "+13m", "-2w", "+1y", "-3wd", "+5wd"}).Draw(rt, "step")
			text += " | " + one
			if got, err := valueOf("{{biz_date | "+one+"}}", want, nil); err == nil {
				want, _ = domain.ParseBizDate(got)
			} else {
				want = domain.BizDate{}
				break
			}
		}
		got, err := valueOf(text+"}}", d, nil)
		if want.IsZero() {
			if err == nil {
				rt.Fatalf("%s of %s is %s", text, d, got)
			}
			return
		}
		if err != nil || got != want.String() {
			rt.Fatalf("%s of %s is %q (%v), want %s", text, d, got, err, want)
		}
	})
}

func FuzzDates(f *testing.F) {
	for _, text := range []string{"biz_date", "biz_date-1m | month_end | yyyyMM", "biz_date+1wd", "biz_date | -1d", "expected_time | HH"} {
		f.Add(text, "2024-02-29")
	}
	f.Fuzz(func(t *testing.T, inner, of string) {
		d, err := domain.ParseBizDate(of)
		if err != nil || strings.ContainsAny(inner, "{}\n") {
			return
		}
		e, fault := parseExpr(inner)
		if (e == nil) == (fault == nil) {
			t.Fatalf("%q: %v and %v", inner, e, fault)
		}
		if e == nil || e.name != nameBizDate {
			return
		}
		got, err := values{Vars: Vars{BizDate: d}}.bizDate(e)
		if err != nil || e.format != "" {
			return
		}
		if _, err := domain.ParseBizDate(got); err != nil {
			t.Fatalf("%q of %s is %q: %v", inner, of, got, err)
		}
	})
}
