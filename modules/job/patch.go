package job

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/axsched/ax/modules/domain"
)

// FormOf shows a definition that was read with opts in the form; every and at are how the form
// writes a schedule that is one of these. Beyond are the keys of the definition that the form
// does not show, or not in full; Patch leaves them as they are written.
func FormOf(spec domain.JobSpec, every, at string, opts Options) (f Form, beyond []string) {
	f = Form{Name: spec.Key().String(), Title: spec.Title, Timezone: spec.Timezone, Trigger: string(spec.Trigger), Deps: depLines(spec),
		Calendar: spec.Calendar.Name, CalendarOn: string(spec.Calendar.On), CalendarElse: string(spec.Calendar.Else), Pool: spec.Pool}
	f.policies(spec, opts.filled().DefaultBizDate)
	if f.Timezone == opts.filled().DefaultZone {
		f.Timezone = "" // given or not, it means the same as long as the default stays
	}
	switch spec.Schedule.Kind {
	case domain.ScheduleCron:
		f.Cron = spec.Schedule.Expr
	case domain.ScheduleEvery:
		f.Every = every
	case domain.ScheduleAt:
		f.At = at
	}
	if spec.TimeoutGiven {
		f.Timeout = strconv.Itoa(spec.TimeoutSec)
	}
	if spec.Exec.Type == shellType {
		f.Command, spec.Exec.Spec = commandOf(spec.Exec)
	} else {
		f.Type, f.Settings = spec.Exec.Type, SettingsText(spec.Exec.Spec)
	}
	sound := f
	sound.Deps = depLines(withoutFirst(spec))
	sound.Command = cmp.Or(f.Command, "true") // settings that can't be read have none
	shown, _ := ParseFile([]byte(sound.YAML()), opts)
	if len(shown) != 1 {
		return f, Changed(domain.JobSpec{}, spec)
	}
	return f, Changed(shown[0].Spec, spec)
}

// shellType is the type that the form shows as a command.
const shellType = "shell"

// policies fills in what is not the default.
func (f *Form) policies(spec domain.JobSpec, rule domain.BizDateRule) {
	if spec.BizDate != rule {
		f.BizDate = string(spec.BizDate)
	}
	if spec.Misfire != domain.MisfireOnce {
		f.Misfire = string(spec.Misfire)
	}
	if spec.Overlap != domain.OverlapQueue {
		f.Overlap = string(spec.Overlap)
	}
}

// withoutFirst leaves out the dependencies that begin on a date: the form can't write them.
func withoutFirst(spec domain.JobSpec) domain.JobSpec {
	spec.Deps = slices.DeleteFunc(slices.Clone(spec.Deps), func(d domain.Dep) bool { return !d.FirstDate.IsZero() })
	return spec
}

// FormOf is FormOf with the platform's defaults.
func (d *Definitions) FormOf(j domain.Job, every, at string) (Form, []string) {
	return FormOf(j.Spec, every, at, Options{DefaultZone: d.DefaultZone, Now: d.Now(), Schedules: d.Schedules})
}

// Zone is the zone of jobs that name none.
func (d *Definitions) Zone() string { return Options{DefaultZone: d.DefaultZone}.filled().DefaultZone }

// commandOf is the command of a shell job, and its settings as if no line ends stood behind it:
// the form keeps none, and they mean nothing.
func commandOf(exec domain.Exec) (string, json.RawMessage) {
	settings := map[string]json.RawMessage{}
	var command string
	if json.Unmarshal(exec.Spec, &settings) != nil || json.Unmarshal(settings["command"], &command) != nil {
		return "", exec.Spec
	}
	command = strings.TrimRight(command, "\n")
	settings["command"], _ = json.Marshal(command) // a string always can be
	text, err := json.Marshal(settings)
	if err != nil {
		return command, exec.Spec
	}
	return command, text
}

func depLines(spec domain.JobSpec) string {
	var out []string
	for _, d := range spec.Deps {
		name := d.Name
		if d.Project != spec.Project {
			name = d.Key().String()
		}
		if d.BizDate != domain.DepCurrent {
			name += " " + string(d.BizDate)
		}
		out = append(out, name)
	}
	return strings.Join(out, "\n")
}

// Patch changes a job file where one form differs from another, and nothing else of it: every
// other line stays byte for byte, comments too. It is false when the text is written so that
// this can't be done, as on one line.
func Patch(text string, was, is Form) (string, bool) {
	before, after := was.sections(), is.sections()
	if slices.Equal(before, after) {
		return text, true
	}
	l, ok := layoutOf(text)
	if !ok {
		return text, false
	}
	for _, group := range [][]string{{"title"}, {"cron", "every", "at", "dialect", "trigger"}, {"timezone"}, {"calendar"}, {"biz_date"},
		{"misfire"}, {"overlap"}, {"pool"}, {"deps"}, {"exec"}, {"timeout"}} {
		if want := textOf(after, group); want != textOf(before, group) {
			l.replace(group, want)
		}
	}
	return strings.Join(l.lines, "\n"), true
}

// textOf is what is written of the keys of a group.
func textOf(all []section, group []string) string {
	text := ""
	for _, s := range all {
		if slices.Contains(group, s.key) {
			text += s.text
		}
	}
	return text
}

// layout is where the keys of job: stand in a text.
type layout struct {
	lines  []string
	indent string
	blocks []block // in the order of the text
	head   int     // the line of job:
}

// block is the lines of one key, from its own to the last that belongs to it, both included.
type block struct {
	key      string
	from, to int
}

var (
	jobLine = regexp.MustCompile(`^job:[ ]*(#.*)?$`)
	keyLine = regexp.MustCompile(`^([ ]+)([A-Za-z_]+)[ ]*:([ ].*)?$`)
)

// layoutOf finds the keys of job: where they stand in lines of their own.
func layoutOf(text string) (l layout, ok bool) {
	l.lines = strings.Split(text, "\n")
	l.head = slices.IndexFunc(l.lines, jobLine.MatchString)
	if l.head < 0 {
		return l, false
	}
	for i := l.head + 1; i < len(l.lines); i++ {
		line := l.lines[i]
		bare := strings.TrimLeft(line, " ")
		blanks := line[:len(line)-len(bare)]
		inside := len(l.blocks) > 0 && len(blanks) > len(l.indent)
		switch {
		case strings.TrimSpace(bare) == "" || bare[0] == '#' && !inside:
			continue
		case inside || len(l.blocks) > 0 && blanks == l.indent && bare[0] == '-':
			l.blocks[len(l.blocks)-1].to = i
			continue
		case len(blanks) < max(len(l.indent), 1):
			return l, len(l.blocks) > 0
		}
		m := keyLine.FindStringSubmatch(line)
		if m == nil || len(l.blocks) > 0 && m[1] != l.indent {
			return l, false
		}
		l.indent = m[1]
		l.blocks = append(l.blocks, block{m[2], i, i})
	}
	return l, len(l.blocks) > 0
}

// replace writes a text in place of the keys of a group; an empty one removes them.
func (l *layout) replace(group []string, text string) {
	at, note := -1, ""
	for i := len(l.blocks) - 1; i >= 0; i-- {
		b := l.blocks[i]
		if !slices.Contains(group, b.key) {
			continue
		}
		if b.from == b.to {
			note = trailingNote(l.lines[b.from])
		}
		l.cut(i)
		at = b.from
	}
	if text == "" {
		return
	}
	if at < 0 {
		at = l.placeFor(group[0])
	}
	added := strings.Split(strings.TrimSuffix(indented(text, l.indent), "\n"), "\n")
	if len(added) == 1 {
		added[0] += note
	}
	l.lines = slices.Insert(l.lines, at, added...)
	for i := range l.blocks {
		if l.blocks[i].from >= at {
			l.blocks[i].from, l.blocks[i].to = l.blocks[i].from+len(added), l.blocks[i].to+len(added)
		}
	}
	i := slices.IndexFunc(l.blocks, func(b block) bool { return b.from > at })
	if i < 0 {
		i = len(l.blocks)
	}
	l.blocks = slices.Insert(l.blocks, i, block{group[0], at, at + len(added) - 1})
}

// cut removes the lines of a block.
func (l *layout) cut(i int) {
	b := l.blocks[i]
	n := b.to - b.from + 1
	l.lines = slices.Delete(l.lines, b.from, b.to+1)
	l.blocks = slices.Delete(l.blocks, i, i+1)
	for k := i; k < len(l.blocks); k++ {
		l.blocks[k].from, l.blocks[k].to = l.blocks[k].from-n, l.blocks[k].to-n
	}
}

// placeFor is the line before which a new key goes: after the nearest of those that the form
// writes before it.
func (l *layout) placeFor(key string) int {
	order := []string{"project", "name", "title", "cron", "timezone", "calendar", "biz_date", "misfire", "overlap", "pool", "deps", "exec", "timeout"}
	for i := slices.Index(order, key) - 1; i >= 0; i-- {
		for _, b := range l.blocks {
			if b.key == order[i] {
				return b.to + 1
			}
		}
	}
	return l.head + 1
}

// noted is a line of a key whose value ends on it: quoted or plain, and what is remarked behind.
var noted = regexp.MustCompile(`^[ ]+[A-Za-z_]+[ ]*:[ ]+(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^"'#|>\[{][^#]*?)([ ]+#.*)$`)

// trailingNote is the comment behind the value of a line, with the blanks before it.
func trailingNote(line string) string {
	if m := noted.FindStringSubmatch(line); m != nil {
		return m[1]
	}
	return ""
}

// Patchable tells whether Patch can change a text at all.
func Patchable(text string) bool {
	_, ok := layoutOf(text)
	return ok
}
