package job

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/axsched/ax/modules/domain"
)

func TestAFormMeansItsFile(t *testing.T) {
	p := parseOne(t, Form{Name: " team/stat ", Title: "日: \"统计\" #1", Cron: "0 2 * * *", Deps: "sync\r\n\r\n other/pay \n", Command: "set -e\r\necho {{biz_date}}\r\n", Timeout: "120"}.YAML())
	s := p.Spec
	var exec struct{ Command string }
	if err := json.Unmarshal(s.Exec.Spec, &exec); err != nil {
		t.Fatal(err)
	}
	if s.Key() != (domain.JobKey{Project: "team", Name: "stat"}) || s.Title != `日: "统计" #1` || s.Schedule.Expr != "0 2 * * *" || s.TimeoutSec != 120 ||
		len(s.Deps) != 2 || s.Deps[0].Key().String() != "team/sync" || s.Deps[1].Key().String() != "other/pay" || exec.Command != "set -e\necho {{biz_date}}" {
		t.Errorf("%+v\n%s", s, p.Text)
	}
}

func TestWhatIsWrongInAFormIsWrongInItsField(t *testing.T) {
	good := Form{Name: "a", Command: "true", Timeout: "5"}
	for field, change := range map[string]func(f *Form){
		"name": func(f *Form) { f.Name = `<b>"x` }, "timeout": func(f *Form) { f.Timeout = "12O" }, "cron": func(f *Form) { f.Cron = "61 * * * *" },
		"deps": func(f *Form) { f.Deps = "a b" }, "command": func(f *Form) { f.Command = "echo {{nope}}" }, "title": func(f *Form) { f.Title = strings.Repeat("x", 300) },
	} {
		f := good
		change(&f)
		_, problems := ParseFile([]byte(f.YAML()), options())
		if faults := problems.Errors(); len(faults) == 0 || FieldAt(faults[0].Path) != field {
			t.Errorf("%s: %+v\n%s", field, faults, f.YAML())
		}
	}
	if f := (Form{Command: "true"}); f.YAML() == "" {
		t.Error("nothing")
	} else if _, problems := ParseFile([]byte(f.YAML()), options()); len(problems.Errors()) == 0 || FieldAt(problems.Errors()[0].Path) != "name" {
		t.Errorf("no name: %+v", problems)
	}
}

// A line of spaces within a command is text like any other.
func TestALineOfSpacesIsReadBack(t *testing.T) {
	const command = "cat <<END\n  \nEND\n \n# more"
	var exec struct{ Command string }
	spec := parseOne(t, Form{Name: "a", Command: command, Timeout: "5"}.YAML()).Spec
	if err := json.Unmarshal(spec.Exec.Spec, &exec); err != nil || exec.Command != command {
		t.Errorf("%q became %q, %v", command, exec.Command, err)
	}
}

// TestAnyTextOfAFormIsReadBackAsItWas: no text ends its field and becomes YAML.
func TestAnyTextOfAFormIsReadBackAsItWas(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.StringMatching(`[a-z:#'"\\\-|>{}\[\]&*!%@ \n\tä中]{0,40}`)
		title := strings.Join(strings.Fields(text.Draw(rt, "title")), " ")
		command := strings.TrimRight(text.Draw(rt, "command"), " \n")
		p, problems := ParseFile([]byte(Form{Name: "a", Title: title, Command: "# " + command, Timeout: "5"}.YAML()), options())
		if len(problems.Errors()) > 0 {
			if !slices.ContainsFunc(problems, func(p Problem) bool {
				return strings.HasPrefix(p.ID, "template.") || strings.HasPrefix(p.ID, "text.")
			}) {
				rt.Fatalf("%q %q: %+v", title, command, problems)
			}
			return
		}
		var exec struct{ Command string }
		if err := json.Unmarshal(p[0].Spec.Exec.Spec, &exec); err != nil {
			rt.Fatal(err)
		}
		if p[0].Spec.Title != title || exec.Command != strings.TrimRight("# "+command, " \n") {
			rt.Fatalf("title %q became %q, command %q became %q", title, p[0].Spec.Title, command, exec.Command)
		}
	})
}

func TestChangedNamesTheKeys(t *testing.T) {
	a := parseOne(t, jobYAML("  title: x\n  deps: [{name: u}]\n")).Spec
	b := parseOne(t, strings.Replace(jobYAML("  title: x\n  retry: {times: 1, interval: 5}\n"), "timeout: 5", "timeout: 6", 1)).Spec
	if got := strings.Join(Changed(a, b), " "); got != "deps retry timeout" {
		t.Errorf("%q", got)
	}
	if got := Changed(a, a); len(got) != 0 {
		t.Errorf("nothing changed, got %v", got)
	}
}

// The form says “each working day at 07:30, about the day before, after that day's sync”, and is read back as it was.
func TestAFormSaysEachWorkingDayAfterTheSync(t *testing.T) {
	f := Form{Name: "report", Cron: "30 7 * * *", Deps: "sync\tcurrent-1d\npay month(current-1m)", Command: "true", Timeout: "5", Calendar: "cn", CalendarOn: "workday", CalendarElse: "next", BizDate: "prev_workday",
		Misfire: "skip", Overlap: "allow", Pool: "db"}
	s := parseOne(t, f.YAML()).Spec
	if s.Calendar != (domain.CalendarUse{Name: "cn", On: domain.GateWorkday, Else: domain.ElseNext}) || s.BizDate != domain.BizDatePrevWorkday || s.Misfire != domain.MisfireSkip || s.Overlap != domain.OverlapAllow ||
		s.Pool != "db" || len(s.Deps) != 2 || s.Deps[0].BizDate != "current-1d" || s.Deps[1].BizDate != "month(current-1m)" {
		t.Errorf("%+v\n%s", s, f.YAML())
	}
	f.Deps = "sync current-1d\npay month(current-1m)"
	if got, beyond := FormOf(s, "", "", options()); got != f || len(beyond) != 0 {
		t.Errorf("read back %+v, beyond %v", got, beyond)
	}
	for field, change := range map[string]func(f *Form){"calendar": func(f *Form) { f.CalendarOn = "sometimes" }, "biz_date": func(f *Form) { f.BizDate = "T-0" }, "deps": func(f *Form) { f.Deps = "sync yesterday" },
		"misfire": func(f *Form) { f.Misfire = "x" }, "overlap": func(f *Form) { f.Overlap = "x" }, "pool": func(f *Form) { f.Pool = "a b" }, "when": func(f *Form) { f.Cron, f.Trigger, f.Deps = "", "upstream", "" }} {
		wrong := f
		change(&wrong)
		if _, problems := ParseFile([]byte(wrong.YAML()), options()); len(problems.Errors()) == 0 || FieldAt(problems.Errors()[0].Path) != field {
			t.Errorf("%s: %+v", field, problems)
		}
	}
}

// Whatever the settings of a type that AX does not know are, the form shows them so that they are read back as they were.
func TestSettingsOfAnOpenTypeAreReadBackAsTheyWere(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		word := rapid.StringMatching(`[a-zA-Z0-9:#'"\\\-|>{}\[\]&*!%@ \n\tä中🚀;$()]{0,20}`)
		var value func(deep int) *rapid.Generator[any]
		value = func(deep int) *rapid.Generator[any] {
			return rapid.Custom(func(t *rapid.T) any {
				kinds := 5
				if deep > 0 {
					kinds = 7
				}
				switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
				case 0:
					return json.Number(rapid.StringMatching(`-?[1-9][0-9]{0,14}(\.[0-9]{1,6})?`).Draw(t, "number"))
				case 1:
					return rapid.Bool().Draw(t, "bool")
				case 5:
					return append([]any{}, rapid.SliceOfN(value(deep-1), 0, 4).Draw(t, "list")...)
				case 6:
					return rapid.MapOfN(word, value(deep-1), 0, 4).Draw(t, "map")
				}
				return word.Draw(t, "text")
			})
		}
		want := rapid.MapOfN(rapid.StringMatching(`[a-z]{1,8}|y|no|[a-z 中.:]{1,6}x`), value(3), 0, 5).Draw(rt, "settings")
		delete(want, "type")
		raw, err := json.Marshal(want)
		if err != nil {
			rt.Fatal(err)
		}
		form := Form{Name: "a", Type: "acme_copy", Settings: SettingsText(raw), Timeout: "5"}
		jobs, problems := ParseFile([]byte(form.YAML()), options())
		if len(problems.Errors()) > 0 {
			if strings.Contains(string(raw), "{{") {
				return
			}
			rt.Fatalf("%s: %+v\n%s", raw, problems.Errors(), form.YAML())
		}
		if a, b := (domain.JobSpec{Exec: domain.Exec{Spec: raw}}), (domain.JobSpec{Exec: domain.Exec{Spec: jobs[0].Spec.Exec.Spec}}); a.Digest() != b.Digest() {
			rt.Fatalf("%s became %s\n%s", raw, jobs[0].Spec.Exec.Spec, form.YAML())
		}
		if back, beyond := FormOf(jobs[0].Spec, "", "", options()); len(beyond) > 0 || back.Settings != form.Settings {
			rt.Fatalf("the form %q became %q, beyond %v", form.Settings, back.Settings, beyond)
		}
	})
}
