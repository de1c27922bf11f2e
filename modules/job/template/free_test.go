package template

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/axsched/ax/modules/domain"
)

// odd is text that would be code somewhere: shell, SQL, JSON, YAML, a template.
const odd = "; $(id) \"x\" '中文🚀\\ `id` {{biz_date}} \"}],\"admin\":true,\n\t--</script>\u2028"

func openSpec(exec string) domain.JobSpec {
	return domain.JobSpec{Project: "default", Name: "a", Params: map[string]string{"odd": "-"},
		Exec: domain.Exec{Type: "acme_copy", Spec: json.RawMessage(exec)}}
}

// A value stays inside its text: the settings have the same keys and kinds whatever it holds, and it arrives byte for byte.
func TestAValueInOpenSettingsIsNeverMoreThanText(t *testing.T) {
	day, err := domain.ParseBizDate("2026-02-03")
	if err != nil {
		t.Fatal(err)
	}
	r, err := Render(openSpec(`{"a":"{{params.odd}}","b":["x {{params.odd}} y",{"c":"{{biz_date | yyyyMMdd}}"}],"n":12345678901234567890.50,"t":true,"z":null,"plain":"<&> {{{{x"}`),
		Vars{BizDate: day, Params: map[string]string{"odd": odd}})
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		A     string
		B     []any
		N     json.Number
		T     bool
		Z     any
		Plain string
		Admin bool
	}
	if err := json.Unmarshal(r.Exec, &got); err != nil {
		t.Fatalf("%v\n%s", err, r.Exec)
	}
	if got.A != odd || got.B[0] != "x "+odd+" y" || got.B[1].(map[string]any)["c"] != "20260203" || got.N != "12345678901234567890.50" ||
		!got.T || got.Z != nil || got.Plain != "<&> {{x" || got.Admin || r.Env["AX_PARAM_odd"] != odd {
		t.Errorf("%s", r.Exec)
	}
}

func TestOpenSettingsAreJudged(t *testing.T) {
	for exec, want := range map[string]string{
		`{"a":"{{nope}}"}`:                    "exec.a template.unknown",
		`{"a":{"b.c":["x","{{params.od}}"]}}`: "exec.a.b·c[1] template.param_unknown",
		`{"{{biz_date}}":1}`:                  "exec.{{biz_date}} template.exec_key",
		`{"a":"{{biz_date"}`:                  "exec.a template.unclosed",
		`[`:                                   "exec template.exec_damaged",
		`{"a":"{{params.odd}} {{shard.index}} ok"}`: "",
	} {
		_, issues := Compile(openSpec(exec))
		got := ""
		if len(issues) > 0 {
			got = issues[0].Field + " " + issues[0].ID
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", exec, got, want)
		}
	}
	many := `{"a":["` + strings.Repeat(`{{params.odd}}","`, 100) + `"]}`
	if _, err := Render(openSpec(many), Vars{Params: map[string]string{"odd": strings.Repeat("x", 60<<10)}}); err == nil || !strings.Contains(err.Error(), "1048576") {
		t.Errorf("settings of 6 MB: %v", err)
	}
}
