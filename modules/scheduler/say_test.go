package scheduler

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/axsched/ax/modules/kit/i18n"
	"github.com/axsched/ax/modules/scheduler/cron"
)

// wrongs are expressions that are refused, each sentence of a refusal at least once.
func wrongs() []struct{ dialect, expr string } {
	var out []struct{ dialect, expr string }
	add := func(dialect string, exprs ...string) {
		for _, e := range exprs {
			out = append(out, struct{ dialect, expr string }{dialect, e})
		}
	}
	add("", "", "CRON_TZ=UTC 0 2 * * *", strings.Repeat("1", 1025), "0 2 * * ＊", "0 2 * *\x01*", "0 2 * *", "@daily now", "@dayly", "@DAILY", "@reboot", "@every", "@every 5m now", "@every soon", "@every 1ms",
		"@every 900000h", "@every 1s1us")
	add("cron", "0 2 * * *")
	add("unix", "0 2 * * * *", "0 2 * * * ?", "0 25 * * *", "0~3 2 * * *", "*/ 2 * * *", "*/x 2 * * *", "*/2x 2 * * *", "*/0 2 * * *", "*/75 2 * * *", "1,,2 2 * * *", "30-10 2 * * *", "1- 2 * * *", "1-- 2 * * *", "x 2 * * *",
		"1234567890 2 * * *", "0 2 * foo *", "0 2 * * foo", "0 2 L * *", "0 2 1? * *")
	add("quartz", "0 0 2 * * *", "0 0 2 ? * ?", "0 0 2 L-31 * ?", "0 0 2 L- * ?", "0 0 2 L-x * ?", "0 0 2 LX * ?", "0 0 2 W * ?", "0 0 2 1W2 * ?", "0 0 2 ? * 0", "0 0 2 ? * 6#6", "0 0 2 ? * 6#", "0 0 2 ? * 6#x", "0 0 2 ? * 6L3", "0 0 2 ? * 6L#",
		"0 0 2 ? * * 2030-2026")
	return out
}

// TestRefusalsOfCronAreInTheCatalogs: in English they read as the command line says them, in Chinese no word of
// English is left beside what was typed; and no sentence of the catalogs is one that nothing says.
func TestRefusalsOfCronAreInTheCatalogs(t *testing.T) {
	unsaid := map[string]bool{}
	text, err := os.ReadFile("../kit/i18n/catalog/en/schedule.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`"(cron(?:fault|hint)\.[a-z_]+)"`).FindAllSubmatch(text, -1) {
		unsaid[string(m[1])] = true
	}
	typed := regexp.MustCompile(`"[^"]*"…?|'[^']*'|\([^)]*\)|（(?:unix|seconds|quartz)）|[@*?/#\d,.-][\w@*?/#,.:-]*|unix|seconds|quartz|cron|timezone|ASCII|\b[A-Z]{1,3}\b|\b[A-Z]+L\b|L-n|\bn[W]?\b|a-b|second minute[a-z \[\]]*|minute hour[a-z \[\]]*|\bdaily\b`)
	for _, w := range wrongs() {
		_, err := cron.Parse(w.expr, cron.Dialect(w.dialect))
		var e *cron.Error
		if !errors.As(err, &e) {
			t.Errorf("%s %q is taken", w.dialect, w.expr)
			continue
		}
		delete(unsaid, "cronfault."+e.ID)
		delete(unsaid, "cronhint."+e.HintID)
		in := func(lang string) string {
			return positioned{e}.Say(func(key string, args map[string]string) string {
				var pairs []any
				for k, v := range args {
					pairs = append(pairs, k, v)
				}
				return i18n.In(lang, key, pairs...)
			})
		}
		if got := in(i18n.English); got != e.Error() {
			t.Errorf("%q is refused on a page with\n%s\nand else with\n%s", w.expr, got, e.Error())
		}
		if left := typed.ReplaceAllString(in(i18n.Chinese), ""); regexp.MustCompile(`[A-Za-z]{2,}|⟦|\{`).MatchString(left) {
			t.Errorf("%q: %s (left: %s)", w.expr, in(i18n.Chinese), left)
		}
	}
	if len(unsaid) > 0 {
		t.Errorf("no expression here is refused with %v", unsaid)
	}
}
