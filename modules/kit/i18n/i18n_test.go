package i18n

import (
	"context"
	"testing"
	"testing/fstest"
	"time"
)

func TestPick(t *testing.T) {
	for accept, want := range map[string]string{
		"":                           English,
		"zh-CN,zh;q=0.9,en;q=0.8":    Chinese,
		"zh":                         Chinese,
		"zh-TW":                      Chinese,
		"en-US,en;q=0.9,zh;q=0.8":    English,
		"fr-FR, zh;q=0.5":            Chinese,
		"fr":                         English,
		";;;q=x":                     English,
		"en;q=0.1, zh-Hans-CN;q=0.9": Chinese,
	} {
		if got := Pick(accept); got != want {
			t.Errorf("Pick(%q) = %s, want %s", accept, got, want)
		}
	}
}

func TestMessages(t *testing.T) {
	ctx := With(context.Background(), English)
	for _, c := range []struct{ got, want string }{
		{T(ctx, "no.such.key"), "⟦no.such.key⟧"},
		{T(ctx, "time.ago"), "⟦d⟧ ago"},
		{T(ctx, "time.ago", "d", "3 min"), "3 min ago"},
		{T(ctx, "jobs.count", "n", 1, "enabled", 0), "1 job, 0 enabled"},
		{T(ctx, "jobs.count", "n", 12345, "enabled", int64(7)), "12,345 jobs, 7 enabled"},
		{T(ctx, "jobs.count", "n", 1000001, "enabled", 1), "1,000,001 jobs, 1 enabled"},
		{In(Chinese, "jobs.count", "n", 1, "enabled", 0), "共 1 个任务，0 个启用"},
		{In("fr", "time.now"), "now"},
		{fill("run {{biz_date}} of {job}", []any{"job", "a"}), "run {{biz_date}} of a"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestUnknownLanguageBecomesEnglish(t *testing.T) {
	if got := Lang(With(context.Background(), "xx")); got != English {
		t.Errorf("got %s", got)
	}
}

func TestTimes(t *testing.T) {
	now := time.Date(2026, 11, 27, 2, 42, 17, 0, time.UTC)
	zone := time.FixedZone("Asia/Shanghai", 8*3600)
	en := WithClock(With(context.Background(), English), now, zone)
	zh := WithClock(With(context.Background(), Chinese), now, zone)
	for _, c := range []struct{ got, want string }{
		{Duration(en, 412*time.Millisecond), "412 ms"},
		{Duration(en, 19500*time.Millisecond), "19.5 s"},
		{Duration(en, 59999*time.Millisecond), "59.9 s"},
		{Duration(en, 3*time.Minute), "3 min"},
		{Duration(zh, 112*time.Minute), "1 小时 52 分"},
		{Duration(en, 51*time.Hour), "2 d 3 h"},
		{Duration(en, -2*time.Second), "2 s"},
		{Relative(en, now), "now"},
		{Relative(en, now.Add(-3*time.Minute-4*time.Second)), "3 min 4 s ago"},
		{Relative(zh, now.Add(14*time.Hour+17*time.Minute+9*time.Second)), "14 小时 17 分后"},
		{DateTime(en, now), "2026-11-27 10:42:17"},
		{DateTime(en, time.Time{}), "–"},
		{ZoneName(en, now), "Asia/Shanghai (UTC+8)"},
		{Offset(now.In(time.FixedZone("x", -3*3600-1800))), "UTC-3:30"},
		{Weekday(zh, now), "周五"},
		{Percent(0.003), "0.30%"},
		{Percent(-0.042), "-4.2%"},
		{Number(-1234567), "-1,234,567"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestCatalogRefusesWhatIsWrong(t *testing.T) {
	for name, files := range map[string]fstest.MapFS{
		"a key in two files":       {"c/a.json": {Data: []byte(`{"k":"1"}`)}, "c/b.json": {Data: []byte(`{"k":"2"}`)}},
		"not an object":            {"c/a.json": {Data: []byte(`[]`)}},
		"an unknown plural form":   {"c/a.json": {Data: []byte(`{"k":{"few":"x","other":"y"}}`)}},
		"a plural without “other”": {"c/a.json": {Data: []byte(`{"k":{"one":"x"}}`)}},
	} {
		if _, err := readCatalog(files, "c"); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}
