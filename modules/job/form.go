package job

import (
	"bytes"
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/axsched/ax/modules/domain"
)

// Form is the short form of an ordinary job, each field as it was typed. Of Cron, Every, At and Trigger
// (upstream) one at most is set. Deps holds one [project/]name a line, behind it the dates that are waited
// for where they are not the same business date. CalendarOn and CalendarElse mean something beside a Calendar
// only. Type "" is a shell job, which has its Command; of any other type Settings are the keys of its exec as
// lines of YAML. Empty is the default.
type Form struct {
	Name, Title, Cron, Every, At, Trigger, Timezone, Deps, Command, Timeout string
	Calendar, CalendarOn, CalendarElse, BizDate, Misfire, Overlap, Pool     string
	Type, Settings                                                          string
}

// YAML writes the job file that the form means. What is wrong in a field is wrong in
// the file too, at the place that FieldAt leads back from: the form judges nothing.
func (f Form) YAML() string {
	var b strings.Builder
	b.WriteString("version: v1\njob:\n")
	for _, s := range f.sections() {
		b.WriteString(indented(s.text, "  "))
	}
	return b.String()
}

// section is one key of job: with all that stands under it.
type section struct{ key, text string }

// sections are the keys that the form sets, in the order of the file.
func (f Form) sections() []section {
	var out []section
	put := func(key, text string) {
		if text != "" {
			out = append(out, section{key, key + ":" + text + "\n"})
		}
	}
	name := domain.ParseJobKey(strings.TrimSpace(f.Name))
	if name.Project != domain.DefaultProject {
		put("project", " "+scalarText(name.Project))
	}
	put("name", " "+scalarText(name.Name))
	for _, v := range []section{{"title", f.Title}, {"cron", f.Cron}, {"every", f.Every}, {"at", f.At}, {"trigger", f.Trigger}, {"timezone", f.Timezone}} {
		if v.text = strings.TrimSpace(v.text); v.text != "" {
			put(v.key, " "+v.written())
		}
	}
	put("calendar", f.calendarText())
	for _, v := range []section{{"biz_date", f.BizDate}, {"misfire", f.Misfire}, {"overlap", f.Overlap}, {"pool", f.Pool}} {
		if v.text = strings.TrimSpace(v.text); v.text != "" {
			put(v.key, " "+scalarText(v.text))
		}
	}
	deps := ""
	for _, d := range lines(f.Deps) {
		name, dates, _ := strings.Cut(strings.ReplaceAll(d, "\t", " "), " ")
		deps += "\n  - name: " + scalarText(name)
		if dates = strings.TrimSpace(dates); dates != "" {
			deps += "\n    biz_date: " + scalarText(dates)
		}
	}
	put("deps", deps)
	put("exec", f.execText())
	if timeout := strings.TrimSpace(f.Timeout); timeout != "" {
		if !decimal.MatchString(timeout) {
			timeout = quoted(timeout)
		}
		put("timeout", " "+timeout)
	}
	return out
}

// execText is what the job runs, as YAML.
func (f Form) execText() string {
	if kind := strings.TrimSpace(f.Type); kind != "" {
		return settingsSection(kind, f.Settings)
	}
	return "\n  type: shell\n  command: " + commandText(f.Command)
}

// calendarText is a calendar as YAML: its name alone where the rest is the default.
func (f Form) calendarText() string {
	name := strings.TrimSpace(f.Calendar)
	if name == "" {
		return ""
	}
	on, otherwise := cmp.Or(f.CalendarOn, string(domain.GateWorkday)), cmp.Or(f.CalendarElse, string(domain.ElseSkip))
	if on == string(domain.GateWorkday) && otherwise == string(domain.ElseSkip) {
		return " " + scalarText(name)
	}
	text := "\n  name: " + scalarText(name) + "\n  on: " + scalarText(on)
	if on != string(domain.GateAny) && otherwise != string(domain.ElseSkip) {
		text += "\n  else: " + scalarText(otherwise)
	}
	return text
}

// written is a value as YAML: cron and title always in quotes, the others where they need them.
func (s section) written() string {
	plain := s.key == "every" && plainEvery.MatchString(s.text) || (s.key == "timezone" || s.key == "trigger") && plainText.MatchString(s.text)
	if plain {
		return s.text
	}
	return quoted(s.text)
}

// plainEvery is a distance such as 90s or 1h30m, which YAML reads as text.
var plainEvery = regexp.MustCompile(`^([0-9]+(ms|s|m|h|d))+$`)

// indented puts the same blanks before each line that holds anything.
func indented(text, blanks string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			b.WriteString(blanks)
		}
		b.WriteString(line)
	}
	return b.String()
}

// lines are the lines of a field that hold anything.
func lines(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// plainText is what YAML reads as text without quotes, whatever stands around it.
var plainText = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(?:[-./][A-Za-z0-9_]+)*$`)

// scalarText writes a word, quoted only where it must be.
func scalarText(s string) string {
	words := []string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}
	if plainText.MatchString(s) && !slices.Contains(words, strings.ToLower(s)) {
		return s
	}
	return quoted(s)
}

// quoted writes a text in double quotes, in which YAML reads what JSON reads.
func quoted(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err) // a string always encodes
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// commandText writes several lines as a block, so that they read as they were typed.
func commandText(command string) string {
	command = strings.TrimRight(strings.ReplaceAll(command, "\r\n", "\n"), " \n")
	odd := strings.IndexFunc(command, func(r rune) bool {
		return r < ' ' && r != '\n' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 || r == 0xfeff
	}) >= 0
	blank := slices.ContainsFunc(strings.Split(command, "\n"), func(line string) bool { // read back without its spaces
		return line != "" && strings.Trim(line, " ") == ""
	})
	if !strings.Contains(command, "\n") || odd || blank || strings.HasPrefix(command, " ") || strings.HasPrefix(command, "\n") {
		return quoted(command)
	}
	return "|-\n    " + strings.ReplaceAll(command, "\n", "\n    ")
}

// FieldAt is the field of a form that a path of its file is about, as the form names it;
// "" where it is about none.
func FieldAt(path string) string {
	if path == "job.exec.type" {
		return "type"
	}
	key, _, _ := strings.Cut(strings.TrimPrefix(path, "job."), ".")
	key, _, _ = strings.Cut(key, "[")
	switch key {
	case "name", "project":
		return "name"
	case "exec":
		return "command"
	case "trigger":
		return "when"
	case "title", "cron", "every", "at", "timezone", "calendar", "biz_date", "misfire", "overlap", "pool", "deps", "timeout":
		return key
	}
	return ""
}

// Changed lists the keys of the job file that mean something else in b than in a.
func Changed(a, b domain.JobSpec) []string {
	was, is := keysOf(a), keysOf(b)
	var out []string
	for key := range is {
		if !bytes.Equal(was[key], is[key]) {
			out = append(out, key)
		}
	}
	for key := range was {
		if _, there := is[key]; !there {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out
}

// keysOf is a definition by the keys of its file.
func keysOf(s domain.JobSpec) map[string]json.RawMessage {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // it was read from JSON or YAML
	}
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &all); err != nil {
		panic(err) // it was written a line above
	}
	out := make(map[string]json.RawMessage, len(all))
	for key, v := range all {
		if !strings.HasSuffix(key, "_given") && key != "enabled" {
			out[strings.TrimSuffix(key, "_sec")] = v
		}
	}
	return out
}
