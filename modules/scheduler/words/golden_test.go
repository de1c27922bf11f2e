package words

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/i18n"
)

const goldenFile = "testdata/sentences.txt"

// TestSentences compares with a table that people have read: an expression, its sentence
// in English, its sentence in Chinese, in Europe/Berlin. AX_TEST_WRITE_GOLDEN=1 writes it
// again, to be read again. (J-A10, G-A10)
func TestSentences(t *testing.T) {
	text, err := os.ReadFile(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	loc := mustZone(t, "Europe/Berlin")
	var b strings.Builder
	n := 0
	for line := range strings.Lines(string(text)) {
		expr, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
		row := expr
		for _, lang := range i18n.Langs() {
			row += "\t" + Wording{}.Sentence(lang, cronOf(expr), loc, start)
		}
		b.WriteString(row + "\n")
		if row != strings.TrimRight(line, "\n") {
			t.Errorf("got  %s\nwant %s", row, line)
		}
		n++
	}
	if os.Getenv("AX_TEST_WRITE_GOLDEN") != "" {
		if err := os.WriteFile(goldenFile, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if n < 120 {
		t.Errorf("the table has %d rows", n)
	}
}

func TestOtherKindsOfSchedule(t *testing.T) {
	at := domain.Schedule{Kind: domain.ScheduleAt, AtMs: time.Date(2026, 2, 2, 20, 5, 0, 0, time.UTC).UnixMilli()}
	late := domain.Schedule{Kind: domain.ScheduleAt, AtMs: time.Date(2026, 2, 2, 20, 5, 6, 7e6, time.UTC).UnixMilli()}
	for _, c := range []struct {
		s      domain.Schedule
		en, zh string
	}{
		{at, "Once, on Tuesday, 2026-02-03 at 04:05", "一次：2026-02-03（周二）04:05"},
		{late, "Once, on Tuesday, 2026-02-03 at 04:05:06.007", "一次：2026-02-03（周二）04:05:06.007"},
		{domain.Schedule{Kind: domain.ScheduleEvery, EveryMs: 500}, "Every 500 ms, counted from the first save", "每 500 毫秒（从首次保存起计）"},
		{domain.Schedule{Kind: domain.ScheduleEvery, EveryMs: 600_000}, "Every 10 minutes, counted from the first save", "每 10 分钟（从首次保存起计）"},
		{domain.Schedule{Kind: domain.ScheduleNone}, "Never by itself: by hand, by the API or by a backfill", "不会自动触发：只由手动、API 或补数触发"},
		{domain.Schedule{}, "Never by itself: by hand, by the API or by a backfill", "不会自动触发：只由手动、API 或补数触发"},
		{cronOf("99 * * * *"), "99 * * * *", "99 * * * *"},
	} {
		for lang, want := range map[string]string{i18n.English: c.en, i18n.Chinese: c.zh} {
			if got := (Wording{}).Sentence(lang, c.s, mustZone(t, "Asia/Shanghai"), start); got != want {
				t.Errorf("%+v: %q, want %q", c.s, got, want)
			}
		}
	}
}
