package cli

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// shellWords parts a line as a shell does that knows double quotes only.
func shellWords(line string) []string {
	var out []string
	for i, part := range strings.Split(line, `"`) {
		if i%2 == 1 {
			out = append(out, part)
		} else {
			out = append(out, strings.Fields(part)...)
		}
	}
	return out
}

// Each command that cannot be called bare says what it lacks, shows a whole call, and takes that.
func TestEveryCommandSaysWhatIsMissingAndGivesAnExample(t *testing.T) {
	a, seen := newAPI(t), map[string]bool{}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
		path := cmd.CommandPath()
		bare := a.ax(t, strings.Fields(path)[1:]...)
		calls := strings.Split(strings.TrimSpace(cmd.Example), "\n")
		seen[path] = true
		if bare.code == exitUsage {
			first, _, _ := strings.Cut(bare.err, "\n")
			if strings.Contains(bare.err, "arg(s)") || !strings.HasPrefix(first, "ax: ") || !strings.Contains(bare.err, "usage: "+path) ||
				!strings.Contains(bare.err, "for example: "+path+" ") || !strings.Contains(bare.err, "for example: "+calls[0]+"\n") {
				t.Errorf("%s says\n%s", path, bare)
			}
			for _, want := range places(cmd.Use) {
				if cmd.Name() != "rerun" && !strings.HasPrefix(want, "[") && !strings.Contains(first, want) {
					t.Errorf("%s does not say that %s is missing:\n%s", path, want, bare)
				}
			}
		}
		if calls[0] == "" {
			return
		}
		if bare.code != exitUsage {
			t.Errorf("%s can be called bare and has an example", path)
		}
		for _, call := range calls {
			if got := a.ax(t, shellWords(call)[1:]...); got.code == exitUsage {
				t.Errorf("the example %q is wrong usage:\n%s", call, got)
			}
		}
	}
	walk(world(nil, "", io.Discard, io.Discard).root())
	for path := range examples() {
		if !seen[path] {
			t.Errorf("there is an example of %s, and no such command", path)
		}
	}
}

func TestArgumentsAreCountedInWords(t *testing.T) {
	a := newAPI(t)
	for line, says := range map[string]string{
		`pools set`:                        "ax pools set: POOL and LIMIT are missing",
		`pools set db`:                     "ax pools set: LIMIT is missing",
		`calendars set cn 2026-05-01`:      "workday|holiday|rule is missing",
		`calendars set cn 1 holiday a b`:   `ax calendars set takes CALENDAR DATE[..DATE] workday|holiday|rule [LABEL], and "b" is one argument too many: what holds blanks stands in quotes`,
		`settle --as failed --reason x`:    "ax settle: ID… is missing",
		`settle`:                           "ax settle: ID… is missing",
		`rerun`:                            "ax rerun: ID is missing",
		`rerun --dag pay`:                  "ax rerun: DATE is missing",
		`rerun --dag pay 2026-02-03 extra`: `ax rerun takes JOB DATE, and "extra" is one argument too many`,
		`trigger my job`:                   `ax trigger takes JOB, and "job" is one argument too many`,
		`workers w1`:                       `ax workers takes no argument, and "w1" is one`,
		`pools db`:                         `ax pools has no command "db": it has delete, list, set`,
		`pools lists`:                      `ax pools has no command "lists"; did you mean list? "ax pools --help" lists them`,
		`calendars cn`:                     `ax calendars has no command "cn": it has apply, delete, set, show`,
		`jbs`:                              `ax has no command "jbs"; did you mean jobs? "ax --help" lists them`,
		`run pay`:                          `did you mean rerun or trigger?`,
		`retry 7`:                          `did you mean rerun?`,
		`server`:                           "without a command it is the server, of all parts or of one: ax --mode=all|center|web|scheduler|broker|worker",
		`help jbs`:                         `ax has no command "jbs"; did you mean jobs?`,
		`help pools lists`:                 `ax pools has no command "lists"; did you mean list?`,
		`--json whatever`:                  `ax has no command "whatever": "ax --help" lists them`,
	} {
		got := a.ax(t, shellWords(line)...)
		if got.code != exitUsage || !strings.Contains(got.err, says) || strings.Contains(got.err, "\n\t") {
			t.Errorf("ax %s: wanted %q, got\n%s", line, says, got)
		}
		if strings.Contains(line, "--json") && got.json(t)["error"] == nil {
			t.Errorf("ax %s: %s", line, got)
		}
	}
	for line, shows := range map[string]string{"help": "Available Commands", "help settle": "ax settle 411052400640000001 --as rerun", "help pools set": "ax pools set db 3", "pools set --help": "ax pools set db 3"} {
		got := a.ax(t, shellWords(line)...)
		if got.code != exitGood || !strings.Contains(got.out, shows) {
			t.Errorf("ax %s does not show %q:\n%s", line, shows, got)
		}
	}
}
