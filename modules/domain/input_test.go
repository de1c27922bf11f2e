package domain

import (
	"fmt"
	"strings"
	"testing"
)

func TestInputsTakeWhatTheirTypeSays(t *testing.T) {
	for _, c := range []struct {
		in       Input
		yes, not []string
	}{
		{Input{Type: InputText}, []string{"x", `; $(id) "x" '中文🚀`, "line1\nline2", " ", strings.Repeat("名", 30000)}, nil},
		{Input{Type: InputText, Pattern: "[a-z]+|9"}, []string{"abc", "9"}, []string{"abc9", "ABC", "abc\n", " abc", "99"}},
		{Input{Type: InputNumber}, []string{"0", "-0.5", "9007199254740993", "1e400", "1E-3"}, []string{"01", "1.", ".5", "0x1", "NaN", "1 ", "+1", "１", "1,000"}},
		{Input{Type: InputDate}, []string{"2026-02-28", "2028-02-29"}, []string{"2026-2-3", "2026-02-30", "20260203", "2026-02-03 ", "today"}},
		{Input{Type: InputBizDate}, []string{"2026-02-28"}, []string{"2026-02-30"}},
		{Input{Type: InputChoice, Choices: []string{"full", "delta", "全量"}}, []string{"full", "全量"}, []string{"Full", "full,delta", "full "}},
		{Input{Type: InputChoices, Choices: []string{"a", "b", "c d"}}, []string{"a", "b,a", "c d,a"}, []string{"a,a", "a,", ",", "a, b", "x"}},
		{Input{Type: InputFile}, []string{"/data/a b.csv", "/数据", "https://h/x?y=1", "s3://bucket/key"}, []string{"a.csv", "../x", "C:\\x", "http://", "/a\nb", "://x", "/" + strings.Repeat("x", 4096)}},
		{Input{Type: InputFile, Pattern: `/data/.*\.csv`}, []string{"/data/a.csv"}, []string{"/etc/passwd", "/data/a.csv.gz"}},
		{Input{Type: InputSecret}, []string{"db_password"}, []string{"hunter2!", "a b", "1a"}},
		{Input{Type: InputSecret, Choices: []string{"prod", "test"}}, []string{"prod"}, []string{"other"}},
	} {
		c.in.Name = "p"
		for _, v := range c.yes {
			if err := c.in.Check(v); err != nil {
				t.Errorf("%s refuses %.40q: %v", c.in.Type, v, err)
			}
		}
		for _, v := range c.not {
			if err := c.in.Check(v); err == nil || err.Field != "params.p" || err.ID == "" {
				t.Errorf("%s takes %.40q: %v", c.in.Type, v, err)
			}
		}
		c.in.Required = true
		if err := c.in.Check(""); err == nil || err.ID != "input.missing" {
			t.Errorf("%s: required and empty: %v", c.in.Type, err)
		}
	}
}

func TestOnlyDeclaredParamsAreTaken(t *testing.T) {
	inputs := []Input{{Name: "mode", Type: InputChoice, Choices: []string{"full"}, Required: true}, {Name: "n", Type: InputNumber}, {Name: "day", Type: InputBizDate, Required: true},
		{Name: "x", Type: InputText, Required: true, Default: "d"}}
	for given, want := range map[string]string{
		"mode=full": "", "mode=full n=1 day=2026-02-03 x=": "", "": "params.mode", "n=x": "params.mode params.n", "mode=full zz=1 aa=2": "params.aa params.zz",
		"mode=half": "params.mode", "mode=full day=x": "params.day",
	} {
		params := map[string]string{}
		for _, pair := range strings.Fields(given) {
			name, value, _ := strings.Cut(pair, "=")
			params[name] = value
		}
		var fields []string
		for _, e := range CheckInputs(inputs, params) {
			fields = append(fields, e.Field)
		}
		if got := strings.Join(fields, " "); got != want {
			t.Errorf("%q: faults in %q, want %q", given, got, want)
		}
	}
	if got := CheckInputs(nil, map[string]string{"any": "x"}); got != nil {
		t.Errorf("a job without inputs: %v", got)
	}
}

func TestFaultsOfInputsStayShortAndPrintable(t *testing.T) {
	err := Input{Name: "n", Type: InputNumber}.Check(strings.Repeat("x", 70000) + "\x1b[31m")
	if len(err.Error()) > 300 || strings.Contains(fmt.Sprint(err.Args), "\x1b") {
		t.Errorf("%d bytes: %q", len(err.Error()), err.Args)
	}
	if err := (Input{Name: "n", Type: InputNumber}).Check("\x1b[31m"); strings.Contains(err.Args["value"], "\x1b") {
		t.Errorf("%q", err.Args)
	}
}
