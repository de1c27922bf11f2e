package cli

import (
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
)

func text(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Every command and every flag of it stand in docs/cli.md.
func TestTheManualIsWhole(t *testing.T) {
	manual := text(t, "../../docs/cli.md")
	for _, cmd := range world(nil, "", io.Discard, io.Discard).root().Commands() {
		name := cmd.Name()
		if !regexp.MustCompile("`ax " + name + `\b`).MatchString(manual) {
			t.Errorf("docs/cli.md lacks ax %s", name)
		}
		for _, flag := range regexp.MustCompile(`--[a-z-]+`).FindAllString(cmd.LocalFlags().FlagUsages(), -1) {
			if short := cmd.Flags().Lookup(strings.TrimPrefix(flag, "--")); short != nil && short.Shorthand != "" {
				flag = "-" + short.Shorthand
			}
			if !strings.Contains(manual, flag) {
				t.Errorf("docs/cli.md lacks %s of ax %s", flag, name)
			}
		}
	}
}

// What docs/jobfile.md and the READMEs say of job files is what is taken.
func TestTheJobFilesOfTheDocumentsAreTrue(t *testing.T) {
	for _, file := range []string{"../../docs/jobfile.md", "../../README.md", "../../README.zh-CN.md"} {
		example := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindStringSubmatch(text(t, file))
		if example == nil {
			t.Fatalf("%s has no example", file)
		}
		if got := ax(t, nil, example[1], "validate", "-"); got.code != 0 || strings.Contains(got.err, "warning") {
			t.Errorf("the example of %s: %s", file, got)
		}
	}
	page, unbuilt, _ := strings.Cut(text(t, "../../docs/jobfile.md"), "## Not built yet")
	before, templates, _ := strings.Cut(page, "## Templates")
	keys := regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| [a-z]").FindAllStringSubmatch(before, -1)
	if len(keys) < 25 || !strings.Contains(templates, "{{biz_date}}") {
		t.Fatalf("the tables of docs/jobfile.md were not found: %v", keys)
	}
	const body = "version: v1\njob:\n  name: a\n  exec: {type: shell, command: x}\n  KEY: 1\n"
	for _, key := range keys {
		inDep := key[1] == "check" || key[1] == "require" || key[1] == "first_date"
		inExec := key[1] == "shell"
		if inDep || inExec || key[1] == "name" {
			continue
		}
		if got := ax(t, nil, strings.Replace(body, "KEY", key[1], 1), "validate", "-"); strings.Contains(got.err, "has no key") || strings.Contains(got.err, "not built") {
			t.Errorf("docs/jobfile.md names %s, which is refused: %s", key[1], got)
		}
	}
	list, _, _ := strings.Cut(strings.TrimSpace(unbuilt), "`,")
	for _, key := range strings.Split(strings.Trim(list, "`"), ", ") {
		if got := ax(t, nil, strings.Replace(body, "KEY", strings.TrimSpace(key), 1), "validate", "-"); got.code != 1 || strings.Contains(got.err, "has no key") {
			t.Errorf("docs/jobfile.md says that %q is refused by name: %s", key, got)
		}
	}
}
