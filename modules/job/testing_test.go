package job

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/axsched/ax/modules/domain"
)

// clockwork stands in for the scheduler: it knows a few expressions that fail on purpose, and
// takes the rest for daily.
type clockwork struct{}

type misplaced struct {
	offset int
	text   string
}

func (m misplaced) Error() string { return m.text }
func (m misplaced) Offset() int   { return m.offset }

func (clockwork) Zone(name string) (*time.Location, error) { return time.LoadLocation(name) }

func (clockwork) Check(s domain.Schedule, zone *time.Location, from time.Time, n int) (string, []time.Time, error) {
	if i := strings.Index(s.Expr, "61"); i >= 0 {
		return "", nil, misplaced{i, "minute 61 is above 59"}
	}
	if s.Kind == domain.ScheduleCron && len(strings.Fields(s.Expr)) < 5 {
		return "", nil, fmt.Errorf("want five to seven fields, got %d", len(strings.Fields(s.Expr)))
	}
	if strings.Contains(s.Expr, "30 2 *") {
		return "unix", nil, nil
	}
	next := make([]time.Time, n)
	for i := range next {
		next[i] = from.In(zone).AddDate(0, 0, i+1)
	}
	if s.Kind != domain.ScheduleCron {
		return "", next, nil
	}
	return "unix", next, nil
}

// Cautions warns of expressions for the 31st, for all the others of nothing.
func (clockwork) Cautions(s domain.Schedule, _ *time.Location, _ time.Time) []domain.Caution {
	if !strings.Contains(s.Expr, " 31 ") {
		return nil
	}
	return []domain.Caution{{ID: "short_months", Args: map[string]string{"day": "31", "months": "2, 4", "n": "2"}}}
}

var testNow = time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)

func options() Options {
	return Options{File: "a.yaml", DefaultZone: "Asia/Shanghai", Now: testNow, Schedules: clockwork{}}
}

// catalog reads one language's texts of problems and hints, the way pages will.
func catalog(t *testing.T, lang string) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../kit/i18n/catalog/" + lang + "/*.json")
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]any{}
		if err := json.Unmarshal(text, &all); err != nil {
			t.Fatal(err)
		}
		for key, v := range all {
			if strings.HasPrefix(key, "problem.") || strings.HasPrefix(key, "hint.") {
				m[key] = otherForm(v)
			}
		}
	}
	return m
}

// otherForm is a text, or the form of it that stands for most numbers.
func otherForm(v any) string {
	if forms, ok := v.(map[string]any); ok {
		v = forms["other"]
	}
	text, _ := v.(string)
	return text
}

// speaker looks texts up; a missing text or placeholder shows as ⟦…⟧.
func speaker(t *testing.T, lang string) Lookup {
	texts := catalog(t, lang)
	return func(key string, args map[string]string) string {
		text, ok := texts[key]
		if !ok {
			return "⟦" + key + "⟧"
		}
		return placeholder.ReplaceAllStringFunc(text, func(found string) string {
			if found[1] == '{' {
				return found
			}
			if v, ok := args[found[1:len(found)-1]]; ok {
				return v
			}
			return "⟦" + found + "⟧"
		})
	}
}

// jobYAML wraps keys of a job, indented by two blanks, into a file that is otherwise sound. The
// keys begin in line 6.
func jobYAML(keys string) string {
	return "version: v1\njob:\n  name: a\n  timeout: 5\n  exec: {type: noop}\n" + keys
}

func parseOne(t *testing.T, text string) Parsed {
	t.Helper()
	jobs, problems := ParseFile([]byte(text), options())
	if len(problems.Errors()) > 0 || len(jobs) != 1 {
		t.Fatalf("want one sound job, got %d and\n%s", len(jobs), problems.Render(speaker(t, "en")))
	}
	return jobs[0]
}

func (c clockwork) Coming(spec domain.JobSpec, _ *domain.Calendar, from time.Time, n int) ([]domain.Coming, error) {
	zone, err := c.Zone(spec.Timezone)
	if err != nil {
		return nil, err
	}
	_, next, err := c.Check(spec.Schedule, zone, from, n)
	out := make([]domain.Coming, len(next))
	for i, at := range next {
		out[i] = domain.Coming{At: at, BizDate: spec.BizDate.Of(domain.BizDateOf(at, zone), nil)}
	}
	return out, err
}
