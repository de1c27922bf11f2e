package storybook

import (
	"fmt"
	"time"

	"github.com/a-h/templ"

	"github.com/axsched/ax/views/calendars"
	"github.com/axsched/ax/views/layout"
	"github.com/axsched/ax/views/ui"
)

func calendarStories() []Story {
	return []Story{
		{"calendars", func(s layout.Shell) templ.Component { return calendars.List(calendarList(s)) }},
		{"calendars-empty", func(s layout.Shell) templ.Component {
			return calendars.List(calendars.ListPage{Shell: s, New: ui.Action{URL: "/calendars/new"}})
		}},
		{"calendar", func(s layout.Shell) templ.Component { return calendars.Year(calendarYear(s)) }},
		{"calendar-of-a-viewer", func(s layout.Shell) templ.Component {
			p := calendarYear(s)
			denied := word(s.Lang, "This needs the permission calendar.write", "需要 calendar.write 权限")
			p.Edit, p.Delete, p.Users, p.More = ui.Action{Denied: denied}, ui.Action{Denied: denied}, nil, 0
			p.Version, p.Ends, p.DayURL = 2, "", ""
			return calendars.Year(p)
		}},
		{"calendar-day", func(s layout.Shell) templ.Component {
			p := calendarDay(s)
			p.Check = calendarCheck(s.Lang)
			return calendars.EditDay(p)
		}},
		{"calendar-day-refused", func(s layout.Shell) templ.Component {
			p := calendarDay(s)
			p.Covered, p.Form.Kind, p.Form.Until = false, "rule", "2024-04-30"
			p.Errors = []ui.FieldError{{Field: "until", Message: word(s.Lang, "2024-05-01..2024-04-30 is no stretch of days: the last must not be before the first, and at most a year later.", "2024-05-01..2024-04-30 不是一段日期：最后一天不能早于第一天，且最多一年。")},
				{Field: "add_year", Message: word(s.Lang, "Calendar cn does not know the special days of 2024: upload that year, or say that its other days follow the weekly rest days.", "日历 cn 不知道 2024 年的特殊日：请上传该年，或说明其余日子按每周休息日。")}}
			p.Conflict, p.ConflictURL = word(s.Lang, "zhao saved version 4 of calendar cn after version 3 that you saw. Look at what is there now and do it again.", "zhao 已保存日历 cn 的第 4 版，而你看到的是第 3 版。请看过现在的内容后重做。"), "/calendars/1"
			return calendars.EditDay(p)
		}},
		{"calendar-new", func(s layout.Shell) templ.Component {
			return calendars.Edit(calendars.EditPage{Shell: s, Projects: []string{"default", "payments"}, MaxKB: 256, CheckURL: "/check", SaveURL: "/calendars/new", CancelURL: "/calendars", Key: "k"})
		}},
		{"calendar-change", func(s layout.Shell) templ.Component {
			p := calendarEdit(s)
			p.Check = calendarCheck(s.Lang)
			return calendars.Edit(p)
		}},
		{"calendar-wrong", func(s layout.Shell) templ.Component {
			p := calendarEdit(s)
			p.Check = calendars.Check{Checked: true, Problems: []calendars.Problem{
				{Line: 9, Column: 5, Message: word(s.Lang, "2024-02-30 is no date: write it like 2026-02-03, or a stretch like 2026-02-15..2026-02-21.", "2024-02-30 不是日期：请写成 2026-02-03，一段日期写成 2026-02-15..2026-02-21。"), Excerpt: "    9 |     2024-02-30: 春节\n      |     ^\n"},
				{Message: word(s.Lang, "Every day of the week is a rest day: leave one out of rest.", "一周七天都是休息日：请在 rest 中去掉至少一天。")},
			}}
			p.Conflict, p.ConflictURL = word(s.Lang, "zhao saved version 4 of calendar cn after version 3 that you saw. Look at what is there now and do it again.", "zhao 已保存日历 cn 的第 4 版，而你看到的是第 3 版。请看过现在的内容后重做。"), "/calendars/1"
			return calendars.Edit(p)
		}},
	}
}

func calendarList(s layout.Shell) calendars.ListPage {
	return calendars.ListPage{Shell: s, New: ui.Action{URL: "/calendars/new"}, Rows: []calendars.Row{
		{Calendar: ui.Ref{ID: "cn", Title: "中国节假日", URL: "/calendars/1"}, Years: "2024–2026", Special: 112, Jobs: 48, Version: 3, Changed: ago(20 * 24 * time.Hour), CoveredTo: "2026-12-31", Ends: false},
		{Calendar: ui.Ref{ID: "payments/settlement", URL: "/calendars/2"}, Years: "2026", Special: 37, Jobs: 6, Version: 1, Changed: ago(300 * 24 * time.Hour), CoveredTo: "2026-12-26", Ends: true},
		{Calendar: ui.Ref{ID: "payments/target2", Title: "TARGET", URL: "/calendars/3"}, Years: "2020–2025", Special: 36, Jobs: 0, Version: 12, Changed: ago(800 * 24 * time.Hour)},
	}}
}

// special are the special days of the story's year.
func special() map[string]calendars.Day {
	out := map[string]calendars.Day{}
	for _, one := range []struct {
		kind, label string
		days        []string
	}{
		{"holiday", "元旦", []string{"2024-01-01"}},
		{"holiday", "春节", []string{"2024-02-10", "2024-02-11", "2024-02-12", "2024-02-13", "2024-02-14", "2024-02-15", "2024-02-16", "2024-02-17"}},
		{"holiday", "清明节", []string{"2024-04-04", "2024-04-05", "2024-04-06"}},
		{"holiday", "劳动节", []string{"2024-05-01", "2024-05-02", "2024-05-03", "2024-05-04", "2024-05-05"}},
		{"holiday", "端午节", []string{"2024-06-08", "2024-06-09", "2024-06-10"}},
		{"holiday", "中秋节", []string{"2024-09-15", "2024-09-16", "2024-09-17"}},
		{"holiday", "国庆节", []string{"2024-10-01", "2024-10-02", "2024-10-03", "2024-10-04", "2024-10-05", "2024-10-06", "2024-10-07"}},
		{"makeup", "春节", []string{"2024-02-04", "2024-02-18"}}, {"makeup", "清明节", []string{"2024-04-07"}}, {"makeup", "劳动节", []string{"2024-04-28", "2024-05-11"}},
		{"makeup", "中秋节", []string{"2024-09-14"}}, {"makeup", "国庆节", []string{"2024-09-29", "2024-10-12"}},
	} {
		for _, d := range one.days {
			out[d] = calendars.Day{Kind: one.kind, Label: one.label}
		}
	}
	return out
}

func calendarYear(s layout.Shell) calendars.YearPage {
	j := sampleJobs()
	p := calendars.YearPage{Shell: s, Calendar: ui.Ref{ID: "cn", Title: "中国节假日", URL: "/calendars/1"}, Project: "default", Version: 3, InForce: 3, InForceURL: "/calendars/1",
		Year: 2024, PrevURL: "?year=2023", NextURL: "?year=2025", Covered: true, Ends: "2024-12-31", Rest: []time.Weekday{time.Sunday, time.Saturday},
		Years:  []ui.Tab{{Text: "2024", URL: "?year=2024", Active: true}, {Text: "2025", URL: "?year=2025"}, {Text: "2026", URL: "?year=2026"}},
		Worked: 251, Off: 115, Holidays: 30, MakeUps: 8, More: 42, Users: []ui.Ref{j[0].ref(s.Lang), j[1].ref(s.Lang), j[5].ref(s.Lang)},
		Text: calendarText, Edit: ui.Action{URL: "/calendars/1/edit"}, Delete: ui.Action{URL: "/calendars/1/delete"}, DayURL: "/calendars/1/day", Key: "k",
		Versions: []calendars.Version{{No: 3, URL: "/calendars/1", By: "lin", At: ago(20 * 24 * time.Hour), File: "cn-2024.ics", Shown: true, InForce: true},
			{No: 2, URL: "?version=2", By: "zhao", At: ago(310 * 24 * time.Hour), File: "cn-2024-new.csv"}, {No: 1, URL: "?version=1", By: "lin", At: ago(700 * 24 * time.Hour)}}}
	of := special()
	for m := time.January; m <= time.December; m++ {
		month := calendars.Month{No: int(m)}
		var week [7]calendars.Day
		for d := time.Date(2024, m, 1, 0, 0, 0, 0, time.UTC); d.Month() == m; d = d.AddDate(0, 0, 1) {
			text := d.Format(time.DateOnly)
			day, ok := of[text]
			if !ok {
				day.Kind = "workday"
				if d.Weekday() == time.Saturday || d.Weekday() == time.Sunday {
					day.Kind = "restday"
				}
			}
			day.No, day.Date, day.Today = d.Day(), text, text == "2024-05-09"
			if ok {
				if n := len(month.Special); n > 0 && month.Special[n-1].Last == d.Day()-1 && month.Special[n-1].Kind == day.Kind {
					month.Special[n-1].Last = d.Day()
				} else {
					month.Special = append(month.Special, calendars.Stretch{First: d.Day(), Last: d.Day(), Kind: day.Kind, Label: day.Label})
				}
			}
			column := (int(d.Weekday()) + 6) % 7
			week[column] = day
			if column == 6 || d.AddDate(0, 0, 1).Month() != m {
				month.Weeks, week = append(month.Weeks, week), [7]calendars.Day{}
			}
		}
		p.Months = append(p.Months, month)
	}
	return p
}

const calendarText = `version: v1
calendar:
  name: cn
  title: 中国节假日
  rest: [sun, sat]
  years: [2024]
  holidays:
    2024-01-01: 元旦
    2024-02-10..2024-02-17: 春节
    2024-05-01..2024-05-05: 劳动节
  workdays:
    2024-02-04: 春节
    2024-05-11: 劳动节
`

func calendarDay(s layout.Shell) calendars.DayPage {
	return calendars.DayPage{Shell: s, Calendar: ui.Ref{ID: "cn", Title: "中国节假日", URL: "/calendars/1"}, Base: 3, At: time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC), Kind: "workday", Covered: true,
		Form: calendars.DayForm{Date: "2024-05-01", Until: "2024-05-05", Kind: "holiday", Label: "劳动节"}, CheckURL: "/check", SaveURL: "/calendars/1/day", CancelURL: "/calendars/1?year=2024#d-2024-05-01", Key: "k"}
}

func calendarEdit(s layout.Shell) calendars.EditPage {
	return calendars.EditPage{Shell: s, Calendar: ui.Ref{ID: "cn", Title: "中国节假日", URL: "/calendars/1"}, Base: 3, Text: calendarText, File: "cn-2024.yaml", MaxKB: 256,
		SaveURL: "/calendars/1/edit", CancelURL: "/calendars/1", Key: "k"}
}

func calendarCheck(lang string) calendars.Check {
	j := sampleJobs()
	at := func(day int, note string) ui.Fire {
		t := time.Date(2024, 5, day, 7, 30, 0, 0, shanghai())
		return ui.Fire{At: t, BizDate: t.Format(time.DateOnly), Note: note}
	}
	return calendars.Check{Checked: true, Change: "updated", Version: 4, Jobs: 48, MoreJobs: 9,
		Days: []calendars.DayChange{{Days: "2024-05-01 – 05-05", Was: "restday", Is: "holiday", Label: "劳动节"}, {Days: "2024-05-11", Was: "restday", Is: "makeup", Label: "劳动节"}, {Days: "2024-06-10", Was: "holiday", Is: "workday"}},
		Moves: []calendars.Move{
			{Job: j[0].ref(lang), Gone: []ui.Fire{at(1, ""), at(2, ""), at(3, "")}, Added: []ui.Fire{at(11, "")}, GoneCount: 3, AddedCount: 1},
			{Job: j[1].ref(lang), Gone: []ui.Fire{at(3, "")}, Added: []ui.Fire{at(6, word(lang, "moved from Fri 2024-05-03 by its calendar", "由日历从 2024-05-03（周五）挪来"))}, GoneCount: 12, AddedCount: 12, More: true},
			{Job: ui.Ref{ID: "payments/settle_interbank_" + fmt.Sprint(2024), URL: "/jobs/9"}, Added: []ui.Fire{at(11, "")}, AddedCount: 1},
		}}
}
