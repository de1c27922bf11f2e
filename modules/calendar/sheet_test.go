package calendar

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/axsched/ax/modules/domain"
)

func day(t testing.TB, text string) domain.BizDate {
	t.Helper()
	d, err := domain.ParseBizDate(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func sample(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func mustRead(t testing.TB, name, text string) *Sheet {
	t.Helper()
	s, problems := Read(name, text, "")
	if len(problems) > 0 {
		t.Fatalf("%s: %+v", name, problems)
	}
	return s
}

// The three files of one year say the same.
func TestChina2024(t *testing.T) {
	var all []*Sheet
	for _, name := range []string{"cn-2024.yaml", "cn-2024.csv", "cn-2024.ics"} {
		s := mustRead(t, name, sample(t, name))
		all = append(all, s)
		if !maps.Equal(s.Days, all[0].Days) || !slices.Equal(s.Years, []int{2024}) {
			t.Errorf("%s has the days %v of %v", name, s.Days, s.Years)
		}
	}
	c := all[0].Calendar(nil)
	worked := 0
	for d := day(t, "2024-01-01"); d.Before(day(t, "2025-01-01")); d = d.AddDays(1) {
		if c.Workday(d) {
			worked++
		}
	}
	if worked != 251 {
		t.Errorf("2024 has %d working days, want 251", worked)
	}
	for text, want := range map[string]bool{"2024-02-04": true, "2024-02-09": true, "2024-02-12": false, "2024-02-18": true, "2024-04-07": true, "2024-05-11": true,
		"2024-09-14": true, "2024-10-12": true, "2024-10-13": false, "2024-10-07": false, "2024-10-08": true} {
		if c.Workday(day(t, text)) != want {
			t.Errorf("%s worked: %t", text, !want)
		}
	}
	if all[2].Title != "中国 2024 年节假日" || c.Days[day(t, "2024-02-12")].Label != "春节" || c.Days[day(t, "2024-02-04")].Label != "春节" {
		t.Errorf("title %q, labels %q and %q", all[2].Title, c.Days[day(t, "2024-02-12")].Label, c.Days[day(t, "2024-02-04")].Label)
	}
	if got := Write(c, domain.DefaultProject); got != sample(t, "cn-2024.yaml") {
		t.Errorf("written again it is\n%s", got)
	}
}

func TestWrongFiles(t *testing.T) {
	head := "version: v1\ncalendar:\n  name: cn\n"
	event := func(body string) string {
		return "BEGIN:VCALENDAR\nBEGIN:VEVENT\n" + body + "END:VEVENT\nEND:VCALENDAR\n"
	}
	for _, c := range []struct {
		file, text, id string
		line, column   int
	}{
		{"a.yaml", "", "empty", 1, 1},
		{"a.yaml", "calendar:\n  name: cn\n", "version", 1, 1},
		{"a.yaml", "version: v2\ncalendar:\n  name: cn\n", "version", 1, 10},
		{"a.yaml", "version: v1\n", "no_calendar", 1, 1},
		{"a.yaml", head, "no_days", 0, 0},
		{"a.yaml", head + "  holiday: {}\n", "key", 4, 3},
		{"a.yaml", head + "  name: x\n", "key_twice", 4, 3},
		{"a.yaml", "version: v1\ncalendar:\n  name: c n\n", "name", 3, 9},
		{"a.yaml", "version: v1\ncalendar:\n  years: 2024\n", "name_missing", 3, 3},
		{"a.yaml", head + "  years: [24]\n", "years", 4, 11},
		{"a.yaml", head + "  years: [2024..2300]\n", "year", 4, 11},
		{"a.yaml", head + "  rest: sat\n", "rest", 4, 9},
		{"a.yaml", head + "  rest: [sat, funday]\n  years: 2024\n", "rest", 4, 15},
		{"a.yaml", head + "  rest: [mon, tue, wed, thu, fri, sat, sun]\n  years: 2024\n", "all_rest", 0, 0},
		{"a.yaml", head + "  holidays:\n    2024-2-3: x\n", "date", 5, 5},
		{"a.yaml", head + "  holidays:\n    2024-02-30: x\n", "date", 5, 5},
		{"a.yaml", head + "  holidays:\n    2024-02-03..2024-02-01: x\n", "stretch", 5, 5},
		{"a.yaml", head + "  holidays:\n    - 2024-02-03\n    - 2024-02-03\n", "twice", 6, 7},
		{"a.yaml", head + "  holidays:\n    2024-02-03: a\n  workdays:\n    2024-02-01..2024-02-04: b\n", "both", 7, 5},
		{"a.yaml", head + "  years: 2024\n  holidays:\n    2024-02-03: a\n    2025-01-01: b\n", "outside", 7, 5},
		{"a.yaml", head + "  holidays:\n    2024-02-03: [a]\n", "label", 5, 17},
		{"a.yaml", head + "  holidays: &x\n    2024-02-03: a\n", "yaml_extra", 4, 13},
		{"a.yaml", head + "  holidays: [[[[[[[1]]]]]]]\n", "yaml_deep", 4, 18},
		{"a.yaml", head + "---\nversion: v1\n", "yaml_docs", 5, 1},
		{"a.yaml", head + "  holidays: {\n", "yaml", 4, 13},
		{"a.csv", "day,what\n", "csv_head", 1, 1},
		{"a.csv", "date,kind,label\n2024-02-03,holiday\n", "csv_fields", 2, 1},
		{"a.csv", "date,kind,label\n2024-02-03,假日,x\n", "kind", 2, 12},
		{"a.csv", "类型,日期\n休,2024/02/03\n", "date", 2, 3},
		{"a.csv", "date,kind\n\"2024-02-03,off\n", "csv_broken", 2, 17},
		{"a.ics", "BEGIN:VEVENT\n", "ics_begin", 1, 1},
		{"a.ics", "BEGIN:VCALENDAR\nBEGIN:VEVENT\nEND:VCALENDAR\n", "ics_end", 3, 1},
		{"a.ics", "BEGIN:VCALENDAR\nBEGIN:VEVENT\n", "ics_open", 3, 1},
		{"a.ics", "BEGIN:VCALENDAR\nwhat is this\nEND:VCALENDAR\n", "ics_line", 2, 1},
		{"a.ics", event("SUMMARY:x\n"), "ics_start", 2, 1},
		{"a.ics", event("DTSTART:20240203T080000Z\n"), "ics_time", 3, 1},
		{"a.ics", event("DTSTART;VALUE=DATE:20240203\nDTEND;VALUE=DATE:20240203\n"), "ics_dtend", 2, 1},
		{"a.ics", event("DTSTART;VALUE=DATE:20240203\nRRULE:FREQ=YEARLY\n"), "ics_rule", 4, 1},
		{"a.ics", event("DTSTART;VALUE=DATE:20240203\nDURATION:PT8H\n"), "ics_time", 4, 1},
		{"a.ics", event("DTSTART;VALUE=DATE:20240203\n") + "x", "ics_line", 6, 1},
		{"a.yaml", head + "\x00", "nul", 4, 1},
		{"a.yaml", "\xff", "utf8", 1, 1},
		{"a.csv", "date,kind,label\n2024-01-01,off,\xd4\xaa\xb5\xa9\n", "utf8", 2, 1}, // 元旦 in GBK
		{"a.csv", "date,kind,label\r\n2024-01-01,off,\ufffd\ufffd\r\n", "utf8", 2, 1}, // the same as a browser reads it
		{"a.ics", event("DTSTART;VALUE=DATE-TIME:20240203\n"), "ics_time", 3, 1},
		{"a.ics", event("DTSTART;VALUE=DATE:20240203\nDTEND:20240204T000000\n"), "ics_time", 4, 1},
		{"a.ics", event("DTSTART;VALUE=DATE:22001231\nDURATION:P3D\n"), "year", 2, 1},
		{"a.ics", event("DTSTART;VALUE=DATE:20240203\nSUMMARY:\xb5\xa9\n"), "utf8", 4, 1},
		{"a.csv", "date,kind\n2024-12-24,半天\n", "kind", 2, 12},
		{"a.yaml", head + "  years: 2024\n  holidays:\n    2024-12-31: a\n    2025-01-02: b\n", "outside", 7, 5},
		{"a.yaml", strings.Repeat("#", MaxBytes+1), "too_big", 0, 0},
	} {
		s, problems := Read(c.file, c.text, "")
		if len(problems) == 0 || s != nil {
			t.Errorf("%s %q is taken, want %s", c.file, clip(c.text), c.id)
			continue
		}
		if p := problems[0]; p.ID != c.id || p.Line != c.line || p.Column != c.column {
			t.Errorf("%s %q: %s at %d:%d, want %s at %d:%d", c.file, clip(c.text), p.ID, p.Line, p.Column, c.id, c.line, c.column)
		}
	}
}

func TestEventsOfICS(t *testing.T) {
	s := mustRead(t, "x.ics", "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nDTSTART;VALUE=DATE:20240501\r\nDURATION:P1W\r\nSUMMARY:A\\, b\r\nEND:VEVENT\r\n"+
		"BEGIN:VEVENT\r\nDTSTART:20240502\r\nSUMMARY:Other\r\nEND:VEVENT\r\n"+
		"BEGIN:VEVENT\r\nDTSTART;VALUE=DATE:20240511\r\nSUMMARY:Make-up\r\n  day\r\nEND:VEVENT\r\n"+
		"BEGIN:VEVENT\r\nDTSTART;VALUE=DATE:20240512\r\nSUMMARY:Classes begin 班\r\nCATEGORIES:Misc,Holiday\r\nEND:VEVENT\r\n"+
		"BEGIN:VEVENT\r\nDTSTART;VALUE=DATE:20240513\r\nSTATUS:CANCELLED\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n")
	for text, want := range map[string]domain.CalendarDay{"2024-05-01": {Label: "A, b"}, "2024-05-02": {Label: "A, b、Other"}, "2024-05-07": {Label: "A, b"},
		"2024-05-11": {Work: true, Label: "Make-up day"}, "2024-05-12": {Label: "Classes begin"}} {
		if got := s.Days[day(t, text)]; got != want {
			t.Errorf("%s is %+v, want %+v", text, got, want)
		}
	}
	if len(s.Days) != 9 {
		t.Errorf("%d days", len(s.Days))
	}
}

func TestDaysReplaceThoseOfTheirYears(t *testing.T) {
	old := mustRead(t, "cn-2024.yaml", sample(t, "cn-2024.yaml")).Calendar(nil)
	old.Title, old.Rest[time.Friday], old.Version = "T", true, 4
	got := mustRead(t, "x.csv", "date,kind\n2025-01-01,off\n2024-01-02,off\n").Calendar(old)
	if got.Title != "T" || !got.Rest[time.Friday] || got.Version != 4 || got.Name != "cn" || !slices.Equal(got.Years, []int{2024, 2025}) || len(got.Days) != 2 {
		t.Errorf("%+v", got)
	}
	got = mustRead(t, "x.csv", "date,kind\n2025-01-01,off\n").Calendar(old)
	if len(got.Days) != len(old.Days)+1 || !slices.Equal(got.Years, []int{2024, 2025}) {
		t.Errorf("%+v", got)
	}
}

// Years between those of the days are not of the file, and a year into which a holiday only reaches over the turn of the year
// neither: their days stay, and the calendar does not claim to know them.
func TestDaysOfOtherYearsStay(t *testing.T) {
	calendar := func(text string) *domain.Calendar {
		c := mustRead(t, "x.yaml", "version: v1\ncalendar:\n  name: cn\n"+text).Calendar(nil)
		prune(c)
		return c
	}
	three := calendar("  years: 2023..2025\n  holidays:\n    2023-05-01: a\n    2024-05-01: a\n    2025-05-01: a\n")
	one := calendar("  holidays:\n    2024-05-01: a\n    2024-12-30..2025-01-01: b\n")
	for _, c := range []struct {
		old  *domain.Calendar
		rows string
		want string
	}{
		{three, "2023-06-01,off;2025-06-01,off", "2023 2024 2025: 2023-06-01 2024-05-01 2025-06-01"},
		{three, "2024-12-30..2025-01-02,off;2024-06-01,off", "2023 2024 2025: 2023-05-01 2024-06-01 2024-12-30 2024-12-31 2025-01-01 2025-01-02 2025-05-01"},
		{three, "2022-12-31..2023-01-02,off;2023-06-01,off", "2023 2024 2025: 2022-12-31 2023-01-01 2023-01-02 2023-06-01 2024-05-01 2025-05-01"},
		{three, "2024-12-31..2025-01-01,off", "2023 2024 2025: 2023-05-01 2024-12-31 2025-01-01"}, // each only reaches over
		{three, "2024-12-31,off;2025-01-01,off;2025-01-03,off;2024-03-01,off", "2023 2024 2025: 2023-05-01 2024-03-01 2024-12-31 2025-01-01 2025-01-03"},
		{one, "2023-05-01,off", "2023 2024: 2023-05-01 2024-05-01 2024-12-30 2024-12-31 2025-01-01"},
		{one, "2024-06-01,off", "2024: 2024-06-01"}, // what reached over is cut off
		{one, "2024-12-31,off;2024-01-01,off", "2024: 2024-01-01 2024-12-31 2025-01-01"},
		{nil, "2023-12-31..2024-01-01,off;2024-12-31..2025-01-02,off;2024-05-01,off", "2024: 2023-12-31 2024-01-01 2024-05-01 2024-12-31 2025-01-01 2025-01-02"},
	} {
		got := mustRead(t, "x.csv", "date,kind\n"+strings.ReplaceAll(c.rows, ";", "\n")).Calendar(c.old)
		got.Name = "cn"
		prune(got)
		said := strings.Trim(strings.ReplaceAll(strings.Trim(fmt.Sprint(got.Years), "[]"), ",", ""), " ") + ":"
		for _, d := range SpecialDays(got) {
			said += " " + d.String()
		}
		if said != c.want {
			t.Errorf("%s makes it\n%s, want\n%s", c.rows, said, c.want)
		}
		if _, problems := Read("x.yaml", Write(got, ""), YAML); len(problems) > 0 {
			t.Errorf("%s: written again it is refused: %+v", c.rows, problems)
		}
	}
	if got := one.CoveredTo(day(t, "2024-06-01")); got != day(t, "2024-12-31") || one.Workday(day(t, "2025-01-01")) {
		t.Errorf("known up to %s", got)
	}
	if three = calendar("  holidays:\n    2023-05-01: a\n    2025-05-01: a\n"); !slices.Equal(three.Years, []int{2023, 2024, 2025}) {
		t.Errorf("a whole calendar knows %v", three.Years)
	}
}

// Some writers fold lines within a character.
func TestLinesFoldedWithinACharacter(t *testing.T) {
	text := "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nDTSTART;VALUE=DATE:20240501\r\nSUMMARY:劳\r\n 动节\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
	split := strings.Replace(text, "劳\r\n 动", "劳\xe5\x8a\r\n \xa8", 1)
	for _, in := range []string{text, split, "\ufeff" + split} {
		if got := mustRead(t, "x.ics", in).Days[day(t, "2024-05-01")].Label; got != "劳动节" {
			t.Errorf("%q", got)
		}
	}
}

// Whatever a calendar holds, it reads back as it was written.
func TestWrittenReadsBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := &domain.Calendar{Name: rapid.StringMatching(`[a-z_0-9一-龥][a-z0-9_.-]{0,5}`).Draw(rt, "name"), Title: strings.TrimSpace(rapid.StringMatching(`[ -~\p{Han}：#"'é]{0,20}`).Draw(rt, "title")),
			Days: map[domain.BizDate]domain.CalendarDay{}}
		for i := range 6 {
			c.Rest[i] = rapid.Bool().Draw(rt, "rest")
		}
		first := rapid.IntRange(1970, 2190).Draw(rt, "year")
		for y := range rapid.IntRange(1, 4).Draw(rt, "years") {
			c.Years = append(c.Years, first+y)
		}
		labels := []string{"", "春节", "on", "a: b", `"x"`, "#1", "- y", "12", "2024-01-01", "null", "a  b", "{x}", "é'"}
		d := domain.NewBizDate(first, time.January, 1)
		for range rapid.IntRange(0, 30).Draw(rt, "days") {
			if d = d.AddDays(rapid.IntRange(1, 3).Draw(rt, "step")); slices.Contains(c.Years, first) {
				c.Days[d] = domain.CalendarDay{Work: rapid.Bool().Draw(rt, "work"), Label: rapid.SampledFrom(labels).Draw(rt, "label")}
			}
		}
		text := Write(c, "p"+strconv.Itoa(first))
		s, problems := Read("x.yaml", text, YAML)
		if len(problems) > 0 {
			rt.Fatalf("%+v\n%s", problems, text)
		}
		got := s.Calendar(nil)
		if got.Name != c.Name || got.Title != c.Title || got.Rest != c.Rest || !slices.Equal(got.Years, c.Years) || !maps.Equal(got.Days, c.Days) || s.Project != "p"+strconv.Itoa(first) {
			rt.Fatalf("got %+v, want %+v\n%s", got, c, text)
		}
		if again := Write(got, s.Project); again != text {
			rt.Fatalf("written twice:\n%s\n%s", text, again)
		}
	})
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"cn-2024.yaml", "cn-2024.csv", "cn-2024.ics"} {
		f.Add(name, sample(f, name))
	}
	f.Fuzz(func(t *testing.T, name, text string) {
		s, problems := Read(name, text, "")
		if (s == nil) == (len(problems) == 0) {
			t.Fatalf("%v and %v", s, problems)
		}
		for _, p := range problems {
			if p.Line < 0 || p.Column < 0 || p.Line > strings.Count(text, "\n")+2 {
				t.Fatalf("a place outside of the text: %+v", p)
			}
		}
		if s == nil || s.Name == "" {
			return
		}
		if _, problems := Read("x.yaml", Write(s.Calendar(nil), s.Project), YAML); len(problems) > 0 {
			t.Fatalf("written again it is refused: %+v", problems)
		}
	})
}

// A file of the largest size is judged in no time, whatever it repeats.
func TestLargeFilesAreQuick(t *testing.T) {
	fill := func(head, part string) string {
		var b strings.Builder
		b.WriteString(head)
		for line, lines := len(head)-1-strings.LastIndexByte(head, '\n'), 0; b.Len()+len(part) < MaxBytes-1 && lines < MaxLines-10; b.WriteString(part) {
			if line += len(part); strings.HasSuffix(part, "\n") {
				line, lines = 0, lines+1
			} else if line > MaxLine-len(part)-1 {
				b.WriteString("\n")
				line, lines = 0, lines+1
			}
		}
		return b.String()
	}
	yaml := "version: v1\ncalendar:\n  name: cn\n  holidays:\n"
	for name, text := range map[string]string{
		"a.yaml": fill(yaml, "    2024-01-01: x\n"), "b.yaml": fill(yaml, "    - 2024-01-01\n"), "c.yaml": fill(yaml+"    ", "["), "d.yaml": fill("", "a: "), "e.yaml": fill("", "- "),
		"f.yaml": fill(yaml+"    2024-01-01: \"", "x"), "g.yaml": fill("", "\n"), "h.yaml": fill("", "? "), "i.yaml": fill("", " "), "j.yaml": fill("", "'"),
		"a.csv": fill("date,kind\n", "2024-01-01,off\n"), "b.csv": fill("date,kind\n", ","), "c.csv": fill("date,kind\n\"", "x\n"), "d.csv": fill("", "\""),
		"a.ics": fill("BEGIN:VCALENDAR\n", " x\n"), "b.ics": fill("BEGIN:VCALENDAR\n", "BEGIN:X\n"), "c.ics": fill("", "A;B=C"), "d.ics": fill("BEGIN:VCALENDAR\nBEGIN:VEVENT\n", "CATEGORIES:a,b\n"),
	} {
		began := time.Now()
		_, problems := Read(name, text, "")
		if len(problems) == 0 || problems[0].ID == "long_line" || problems[0].ID == "many_lines" {
			t.Errorf("%s: %+v", name, problems)
		}
		t.Log(name, time.Since(began), len(text), problems[0].ID)
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("%s took %s", name, took)
		}
	}
}
