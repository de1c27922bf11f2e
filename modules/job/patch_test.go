package job

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// written is a file as people write them: comments, own order, keys that no form shows.
const written = `# the nightly figures
version: v1
job:
    # who and what
    name: stat            # never change this
    title: 'Daily: "figures"'  # for the list

    cron: "0 2 * * *"     # after the sync
    retry: {times: 2, interval: 60}   # as agreed
    exec:
        type: shell
        # two steps
        command: |
            set -e

            # count
            count.sh {{biz_date}}
    deps:
    - name: sync
    # the other half
    - name: pay

    timeout: 120
    # the end
# really
`

func patched(t *testing.T, text string, change func(*Form)) string {
	t.Helper()
	was, _ := FormOf(parseOne(t, text).Spec, "90m", "", options())
	is := was
	change(&is)
	out, ok := Patch(text, was, is)
	if !ok {
		t.Fatalf("it can't be patched:\n%s", text)
	}
	return out
}

func TestPatchChangesWhatChanged(t *testing.T) {
	if got := patched(t, written, func(*Form) {}); got != written {
		t.Errorf("nothing changed and it became\n%s", got)
	}
	for name, c := range map[string]struct {
		change   func(*Form)
		from, to string
	}{
		"cron":           {func(f *Form) { f.Cron = "30 7 * * 1-5" }, `    cron: "0 2 * * *"     # after the sync`, `    cron: "30 7 * * 1-5"     # after the sync`},
		"every":          {func(f *Form) { f.Cron, f.Every = "", "10m" }, `    cron: "0 2 * * *"     # after the sync`, `    every: 10m     # after the sync`},
		"at":             {func(f *Form) { f.Cron, f.At = "", "2027-01-02T03:04" }, `    cron: "0 2 * * *"     # after the sync`, `    at: "2027-01-02T03:04"     # after the sync`},
		"by hand":        {func(f *Form) { f.Cron = "" }, "    cron: \"0 2 * * *\"     # after the sync\n", ""},
		"title":          {func(f *Form) { f.Title = "Figures" }, `    title: 'Daily: "figures"'  # for the list`, `    title: "Figures"  # for the list`},
		"timezone":       {func(f *Form) { f.Timezone = "Europe/Berlin" }, "after the sync\n", "after the sync\n    timezone: Europe/Berlin\n"},
		"timeout":        {func(f *Form) { f.Timeout = "60" }, "timeout: 120", "timeout: 60"},
		"no timeout":     {func(f *Form) { f.Timeout = "" }, "    timeout: 120\n", ""},
		"bad timeout":    {func(f *Form) { f.Timeout = "12O" }, "timeout: 120", `timeout: "12O"`},
		"deps":           {func(f *Form) { f.Deps = "sync" }, "    deps:\n    - name: sync\n    # the other half\n    - name: pay\n", "    deps:\n      - name: sync\n"},
		"no deps":        {func(f *Form) { f.Deps = "" }, "    deps:\n    - name: sync\n    # the other half\n    - name: pay\n", ""},
		"command":        {func(f *Form) { f.Command = "true" }, "        # two steps\n        command: |\n            set -e\n\n            # count\n            count.sh {{biz_date}}\n", "TRUE"},
		"cron and title": {func(f *Form) { f.Cron, f.Title = "", "" }, "    title: 'Daily: \"figures\"'  # for the list\n\n    cron: \"0 2 * * *\"     # after the sync\n", "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			to := strings.Replace(c.to, "TRUE", "      command: \"true\"\n", 1)
			want := strings.Replace(written, c.from, to, 1)
			want = strings.Replace(want, "        type: shell\n      command: \"true\"\n", "      type: shell\n      command: \"true\"\n", 1)
			if got := patched(t, written, c.change); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestPatchDropsADialectOfAnotherExpression(t *testing.T) {
	text := jobYAML("  dialect: unix\n  cron: \"0 2 * * *\"\n")
	if got := patched(t, text, func(f *Form) { f.Cron = "0 0 2 L * ?" }); got != jobYAML("  cron: \"0 0 2 L * ?\"\n") {
		t.Errorf("got\n%s", got)
	}
}

func TestWhatCanNotBePatched(t *testing.T) {
	for _, text := range []string{"version: v1\njob: {name: a, exec: {type: noop}, timeout: 5}\n", "{version: v1, job: {name: a, exec: {type: noop}, timeout: 5}}\n",
		"version: v1\njob:\n  \"name\": a\n  exec: {type: noop}\n  timeout: 5\n", "version: v1\njob:\n  {name: a, exec: {type: noop}, timeout: 5}\n"} {
		was, _ := FormOf(parseOne(t, text).Spec, "90m", "", options())
		is := was
		is.Cron = "0 2 * * *"
		if got, ok := Patch(text, was, is); ok || got != text {
			t.Errorf("it became\n%s", got)
		}
	}
}

func TestFormOfSaysWhatItDoesNotShow(t *testing.T) {
	for text, want := range map[string][]string{
		jobYAML("  cron: \"0 2 * * *\"\n"):          nil,
		jobYAML("  at: 2027-01-02T03:04:05.678Z\n"): {"schedule"},
		written: {"retry"},
		jobYAML("  deps: [{name: self, biz_date: current-1d, first_date: 2026-01-01}, {name: b}]\n"):                                              {"deps"},
		Form{Name: "a", Trigger: "upstream", Deps: "b\nq/c prev_workday", Calendar: "cn", CalendarOn: "any", Pool: "db", Command: "x"}.YAML():     nil,
		Form{Name: "p/a", Title: "t", Cron: "0 2 * * *", Deps: "b\nq/c", Command: "x\ny", Timeout: "5", Timezone: "Europe/Berlin"}.YAML():         nil,
		Form{Name: "a", Every: "90m", Command: "x", Timeout: "5"}.YAML() + "  owner: me\n  params: {a: b}\n":                                      {"owner", "params"},
		"version: v1\njob:\n  name: a\n  timeout: 5\n  exec: {type: shell, command: a}\n  deps: [{name: b, biz_date: current, check: success}]\n": nil,
	} {
		if _, beyond := FormOf(parseOne(t, text).Spec, "90m", "", options()); !slices.Equal(beyond, want) {
			t.Errorf("beyond the form: %v, want %v, in\n%s", beyond, want, text)
		}
	}
}

// TestAPatchedFileMeansTheForm: whatever the form says, the file says it too, and nothing else
// of it changed.
func TestAPatchedFileMeansTheForm(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		pick := func(label string, from ...string) string { return rapid.SampledFrom(from).Draw(rt, label) }
		text := pick("text", written, Form{Name: "a", Command: "true"}.YAML(), "version: v1\njob:\n  name: a\n  # c\n  exec:\n    type: shell\n    command: a\n  env: {A: b}\n")
		was, before := FormOf(parseOne(t, text).Spec, "90m", "", options())
		is := was
		is.Title = pick("title", was.Title, "", "x # y", "日: \"q\"")
		is.Cron = pick("cron", was.Cron, "", "0 0 2 L * ?", "*/5 * * * *")
		is.Timezone = pick("timezone", was.Timezone, "", "Europe/Berlin")
		is.Deps = pick("deps", was.Deps, "", "one", "one\nother/two")
		is.Deps = pick("dates", is.Deps, "one prev_workday\ntwo month(current-1m)")
		is.Calendar = pick("calendar", was.Calendar, "", "cn", "no")
		if is.CalendarOn, is.CalendarElse = "", ""; is.Calendar != "" {
			is.CalendarOn, is.CalendarElse = pick("on", "workday", "restday"), pick("else", "skip", "next", "previous")
		}
		is.BizDate, is.Misfire = pick("biz_date", was.BizDate, "", "T-1", "T+3", "prev_workday"), pick("misfire", was.Misfire, "", "skip", "fire_all")
		is.Overlap, is.Pool = pick("overlap", was.Overlap, "", "allow"), pick("pool", was.Pool, "", "db")
		if is.Command = pick("command", was.Command, "true", "a\n\nb # c", "  x", ""); is.Command == "" {
			is.Type, is.Settings = pick("type", "acme_copy", "noop2"), pick("settings", "a: 1\nb: \"{{biz_date}}\"", "", "a: [\"x\", {\"y\": true}]\nlong: |-\n  one\n    two\n\n  three")
		}
		is.Timeout = pick("timeout", was.Timeout, "", "7")
		out, ok := Patch(text, was, is)
		if !ok {
			rt.Fatal("it can't be patched")
		}
		jobs, problems := ParseFile([]byte(out), options())
		if len(problems.Errors()) > 0 {
			rt.Fatalf("%+v\n%s", problems.Errors(), out)
		}
		got, beyond := FormOf(jobs[0].Spec, "", "", options())
		is.Title, is.Command = strings.TrimSpace(is.Title), strings.TrimRight(is.Command, "\n")
		got.Command = strings.TrimRight(got.Command, "\n")
		if got != is || !slices.Equal(beyond, before) {
			rt.Fatalf("the form %+v became %+v, beyond %v, before %v\n%s", is, got, beyond, before, out)
		}
		for line := range strings.Lines(text) {
			if strings.HasPrefix(strings.TrimSpace(line), "# ") && is.Command == was.Command && is.Deps == was.Deps && !strings.Contains(out, line) {
				rt.Fatalf("the comment %q is gone\n%s", line, out)
			}
		}
	})
}
