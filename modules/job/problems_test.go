package job

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// refusal is a text and the error that it must give: id, line, column and what the message says.
type refusal struct {
	name string
	text string
	id   string
	line int
	col  int
	says string // a part of the English rendering
}

func refusals() []refusal {
	return []refusal{
		{"empty file", "", idFileEmpty, 1, 1, "no job"},
		{"comments only", "# hi\n", idFileEmpty, 1, 1, "no job"},
		{"NUL", "version: v1\njob: a\x00b\n", idFileNUL, 2, 7, "NUL"},
		{"NUL by escape", jobYAML("  title: \"a\\0b\"\n"), idTextNUL, 6, 10, "NUL"},
		{"latin 1", "version: v1\n# caf\xe9\n", idFileUTF8, 2, 6, "0xE9"},
		{"list at top", "- a\n", idWantMap, 1, 1, "map"},
		{"no version", "job:\n  name: a\n  exec: {type: noop}\n  timeout: 5\n", idVersionMissing, 1, 1, "version: v1"},
		{"other version", strings.Replace(jobYAML(""), "v1", "v2", 1), idVersionUnknown, 1, 10, "v2"},
		{"no job", "version: v1\n", idJobMissing, 1, 1, "job:"},
		{"job not a map", "version: v1\njob: a\n", idWantMap, 2, 6, "not a"},
		{"no name", strings.Replace(jobYAML(""), "  name: a\n", "", 1), idKeyMissing, 3, 3, "name"},
		{"no exec", strings.Replace(jobYAML(""), "  exec: {type: noop}\n", "", 1), idKeyMissing, 3, 3, "exec"},
		{"key at top", jobYAML("") + "cron: 0 2 * * *\n", idTopUnknown, 6, 1, "move cron under job:"},
		{"jobs", "version: v1\njobs: []\n", idTopUnknown, 2, 1, "---"},

		{"unknown key", jobYAML("  timout: 5\n"), idKeyUnknown, 6, 3, "did you mean timeout?"},
		{"no shards", jobYAML("  shards: 0\n"), idNumberRange, 6, 11, "1000"},
		{"too many shards", jobYAML("  shards: 1001\n"), idNumberRange, 6, 11, "1000"},
		{"shards by word", jobYAML("  shards: many\n"), idWantNumber, 6, 11, "number"},
		{"shards and broadcast", jobYAML("  broadcast: true\n  shards: 4\n"), idShardsBroadcast, 7, 3, "broadcast"},
		{"not built", jobYAML("  approval: {}\n"), idNotBuilt, 6, 3, "not built yet"},
		{"biz_date", jobYAML("  biz_date: month_ends\n"), idValueUnknown, 6, 13, "month_end"},
		{"biz_date far", jobYAML("  biz_date: T-367\n"), idValueUnknown, 6, 13, "T-n"},
		{"calendar key", jobYAML("  calendar:\n    name: cn\n    onn: workday\n"), idCalendarKey, 8, 5, "mean on"},
		{"calendar without name", jobYAML("  calendar:\n    on: workday\n"), idCalendarName, 7, 5, "name"},
		{"calendar on", jobYAML("  calendar: {name: cn, on: feast}\n"), idValueUnknown, 6, 28, "workday, restday, any"},
		{"calendar else", jobYAML("  calendar: {name: cn, else: run}\n"), idValueUnknown, 6, 30, "skip, next, previous"},
		{"calendar name", jobYAML("  calendar: c n\n"), idNameSpace, 6, 13, "name"},
		{"calendar any and else", jobYAML("  calendar: {name: cn, on: any, else: skip}\n"), idCalendarAny, 6, 33, "any"},
		{"calendar at", jobYAML("  at: 2099-01-01T00:00:00Z\n  calendar: cn\n"), idCalendarAt, 7, 13, "any"},
		{"calendar moves an interval", jobYAML("  every: 1h\n  calendar: {name: cn, else: next}\n"), idCalendarMove, 7, 30, "skip"},
		{"duplicate key", jobYAML("  owner: a\n  title: b\n  owner: c\n"), idKeyTwice, 8, 3, "line 6"},
		{"duplicate param", jobYAML("  params:\n    a: 1\n    a: 2\n"), idKeyTwice, 8, 5, "line 7"},

		{"star cron", jobYAML("  cron: * * * * *\n"), idYAMLCronStar, 6, 9, `cron: "* * * * *"`},
		{"star slash cron", jobYAML("  cron: */5 * * * *  # often\n"), idYAMLCronStar, 6, 9, `cron: "*/5 * * * *"`},
		{"alias", jobYAML("  title: *x\n"), idYAMLAlias, 6, 10, "reference"},
		{"anchor", jobYAML("  title: &x y\n"), idYAMLAnchor, 6, 10, "anchor"},
		{"alias bomb", "a: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]\n", idYAMLAnchor, 1, 4, "anchor"},
		{"merge", jobYAML("  <<: {title: x}\n"), idYAMLMerge, 6, 3, "<<"},
		{"tag", jobYAML("  title: !!str 5\n"), idYAMLTag, 6, 10, "!!str"},
		{"deep", jobYAML("  params: " + strings.Repeat("[", 1000) + "\n"), idYAMLDeep, 6, 31, "20"},
		{"tab", jobYAML("\towner: x\n"), idYAMLTab, 6, 1, "tab"},
		{"open quote", jobYAML("  title: \"x\n"), idYAMLQuoteOpen, 6, 10, "never closed"},
		{"open bracket", jobYAML("  topics: [a, b\n"), idYAMLBracketOpen, 6, 11, "never closed"},
		{"at sign", jobYAML("  cron: @daily\n"), idYAMLReserved, 6, 9, "quotes"},
		{"two colons", jobYAML("  title: a: b\n"), idYAMLColon, 6, 10, "quotes"},
		{"braces", jobYAML("  title: {{biz_date}}\n"), idYAMLBraces, 6, 10, "double quotes"},
		{"indentation", jobYAML("  title: x\n   owner: y\n"), idYAMLIndent, 7, 4, "indentation"},

		{"quoted number", jobYAML("  queue_timeout: \"60\"\n"), idWantNumber, 6, 18, "without quotes"},
		{"letter O", jobYAML("  queue_timeout: 12O\n"), idWantNumber, 6, 18, "12O"},
		{"unit", jobYAML("  queue_timeout: 60s\n"), idWantNumber, 6, 18, "60s"},
		{"leading zero", jobYAML("  queue_timeout: 010\n"), idNumberZero, 6, 18, "write 10"},
		{"hex", jobYAML("  queue_timeout: 0x10\n"), idWantNumber, 6, 18, "0x10"},
		{"fraction", jobYAML("  queue_timeout: 1.5\n"), idWantNumber, 6, 18, "1.5"},
		{"zero", jobYAML("  queue_timeout: 0\n"), idNumberRange, 6, 18, "from 1"},
		{"negative", jobYAML("  queue_timeout: -5\n"), idNumberRange, 6, 18, "-5"},
		{"huge", jobYAML("  queue_timeout: 99999999999999999999\n"), idNumberRange, 6, 18, "99999"},
		{"no time at all (G-E8)", strings.Replace(jobYAML(""), "timeout: 5", "timeout: 0", 1), idNumberRange, 4, 12, "from 1"},
		{"time-out below zero (G-E8)", strings.Replace(jobYAML(""), "timeout: 5", "timeout: -1", 1), idNumberRange, 4, 12, "-1"},
		{"half a second (G-E8)", strings.Replace(jobYAML(""), "timeout: 5", "timeout: 0.5", 1), idWantNumber, 4, 12, "0.5"},
		{"ten years (G-E8)", strings.Replace(jobYAML(""), "timeout: 5", "timeout: 315360000", 1), idNumberRange, 4, 12, "315360000"},
		{"time-out without a value (G-E8)", strings.Replace(jobYAML(""), "timeout: 5", "timeout:", 1), idValueEmpty, 4, 3, "no value"},
		{"number is empty", jobYAML("  queue_timeout:\n"), idValueEmpty, 6, 3, "no value"},
		{"input name", jobYAML("  inputs:\n    - {name: a-b}\n"), idParamName, 7, 14, "a-b"},
		{"input type", jobYAML("  inputs:\n    - {name: a, type: txt}\n"), idValueUnknown, 7, 23, "did you mean text?"},
		{"input key", jobYAML("  inputs:\n    - {name: a, defalt: x}\n"), idInputKey, 7, 17, "did you mean default?"},
		{"input without a name", jobYAML("  inputs:\n    - {type: text}\n"), idInputName, 7, 7, "needs a name"},
		{"input without choices", jobYAML("  inputs:\n    - {name: a, type: choice}\n"), idInputChoices, 7, 7, "needs choices"},
		{"input with needless choices", jobYAML("  inputs:\n    - {name: a, choices: [x]}\n"), idInputNeedless, 7, 17, "type text"},
		{"input with a comma", jobYAML("  inputs:\n    - {name: a, type: choice, choices: ['x,y']}\n"), idInputChoice, 7, 41, "without a comma"},
		{"input with a wrong pattern", jobYAML("  inputs:\n    - {name: a, pattern: '('}\n"), idInputPattern, 7, 26, "missing closing"},
		{"input with a wrong default", jobYAML("  inputs:\n    - {name: a, type: number, default: x}\n"), idInputDefault, 7, 40, "wants a number"},
		{"input twice", jobYAML("  inputs:\n    - {name: a}\n    - {name: a}\n"), idInputTwice, 8, 7, "twice"},
		{"input and param", jobYAML("  params: {a: 1}\n  inputs:\n    - {name: a}\n"), idInputParam, 6, 15, "an input already"},
		{"input that nobody gives", jobYAML("  cron: \"0 2 * * *\"\n  inputs:\n    - {name: a, required: true}\n"), idInputUnfed, 8, 7, "give it a default"},
		{"input default template", jobYAML("  inputs:\n    - {name: a, default: '{{biz_dat}}'}\n"), "template.unknown", 7, 27, "did you mean biz_date?"},
		{"input default of a secret", jobYAML("  inputs:\n    - {name: a, default: '{{secrets.x}}'}\n"), "template.secret_param", 7, 27, "pages"},
		{"output name", jobYAML("  outputs: [a-b]\n"), idOutputName, 6, 13, "a-b"},
		{"output twice", jobYAML("  outputs: [a, a]\n"), idListTwice, 6, 16, "a"},
		{"boolean on", jobYAML("  enabled: on\n"), idWantBoolean, 6, 12, "true or false"},
		{"boolean text", jobYAML("  idempotent: \"true\"\n"), idWantBoolean, 6, 15, "true or false"},
		{"text is a list", jobYAML("  owner: [a]\n"), idWantText, 6, 10, "not […]"},
		{"text is a map", jobYAML("  owner: {a: 1}\n"), idWantText, 6, 10, "not {…}"},
		{"title of two lines", jobYAML("  title: \"a\\nb\"\n"), idTextControl, 6, 10, "one line"},
		{"long title", jobYAML("  title: " + strings.Repeat("长", 201) + "\n"), idTextLong, 6, 10, "201"},
		{"choice", jobYAML("  misfire: fire_onec\n"), idValueUnknown, 6, 12, "did you mean fire_once?"},
		{"choice far off", jobYAML("  overlap: 7\n"), idValueUnknown, 6, 12, "queue, allow, skip, replace"},
		{"priority", jobYAML("  priority: HIGH\n"), idValueUnknown, 6, 13, "did you mean high?"},

		{"markup in name", strings.Replace(jobYAML(""), "name: a", `name: '"><img src=x onerror=alert(1)>'`, 1), idNameChars, 3, 9, "name"},
		{"slash in name", strings.Replace(jobYAML(""), "name: a", "name: a/b", 1), idNameChars, 3, 9, "holds /"},
		{"blank in name", strings.Replace(jobYAML(""), "name: a", "name: a b", 1), idNameSpace, 3, 9, "holds a space"},
		{"blank at the end", strings.Replace(jobYAML(""), "name: a", "name: 'a '", 1), idNameSpace, 3, 9, "holds a space"},
		{"wide blank in name", strings.Replace(jobYAML(""), "name: a", "name: a\u3000b", 1), idNameSpace, 3, 9, "holds a space"},
		{"direction mark", strings.Replace(jobYAML(""), "name: a", "name: \"a\u202eb\"", 1), idNameChars, 3, 9, "U+202E"},
		{"empty name", strings.Replace(jobYAML(""), "name: a", "name: ''", 1), idNameEmpty, 3, 9, "empty"},
		{"dot name", strings.Replace(jobYAML(""), "name: a", "name: ..", 1), idNameStart, 3, 9, "begins with"},
		{"dash name", strings.Replace(jobYAML(""), "name: a", "name: -a", 1), idNameStart, 3, 9, "begins with"},
		{"long name", strings.Replace(jobYAML(""), "name: a", "name: "+strings.Repeat("名", 101), 1), idNameLong, 3, 9, "100"},
		{"tag twice", jobYAML("  tags: [a, a]\n"), idListTwice, 6, 13, "twice"},
		{"param name", jobYAML("  params: {a-b: 1}\n"), idParamName, 6, 12, "a-b"},
		{"param list", jobYAML("  params: {a: [1]}\n"), idWantText, 6, 15, "a must be text"},
		{"env name", jobYAML("  env:\n    1X: 1\n"), idEnvName, 7, 5, "1X"},
		{"env reserved", jobYAML("  env:\n    AX_ATTEMPT: 1\n"), idEnvReserved, 7, 5, "AX_"},

		{"zone", jobYAML("  timezone: asia/nowhere\n"), idZoneUnknown, 6, 13, "asia/nowhere"},
		{"zone local", jobYAML("  timezone: Local\n"), idZoneUnknown, 6, 13, "IANA"},
		{"two schedules", jobYAML("  cron: 0 2 * * *\n  every: 5m\n"), idScheduleTwo, 7, 3, "cron"},
		{"dialect alone", jobYAML("  dialect: unix\n"), idDialectAlone, 6, 3, "cron"},
		{"cron place (G-A13)", jobYAML("  cron: 0,61 2 * * *\n"), idCronWrong, 6, 11, "minute 61"},
		{"cron place, quoted", jobYAML("  cron: \"0,61 2 * * *\"\n"), idCronWrong, 6, 12, "minute 61"},
		{"cron no place", jobYAML("  cron: hourly\n"), idCronWrong, 6, 9, "five to seven"},
		{"cron never (G-A9)", jobYAML("  cron: 0 0 30 2 *\n"), idCronNever, 6, 9, "never fires"},
		{"every", jobYAML("  every: five\n"), idEveryWrong, 6, 10, "10m"},
		{"every minus", jobYAML("  every: -5m\n"), idEveryRange, 6, 10, "100ms"},
		{"every zero", jobYAML("  every: 0s\n"), idEveryRange, 6, 10, "100ms"},
		{"every fast", jobYAML("  every: 99ms\n"), idEveryRange, 6, 10, "100ms"},
		{"every long", jobYAML("  every: 999999999999d\n"), idEveryRange, 6, 10, "36500d"},
		{"every fine", jobYAML("  every: 100.5ms\n"), idEveryGrain, 6, 10, "millisecond"},
		{"at", jobYAML("  at: tomorrow\n"), idAtWrong, 6, 7, "2026-02-03"},
		{"at in a gap", jobYAML("  timezone: America/New_York\n  at: 2027-03-14 02:30\n"), idAtGap, 7, 7, "skip"},

		{"retry key", jobYAML("  retry: {time: 2}\n"), idRetryKey, 6, 11, "did you mean times?"},
		{"retry both", jobYAML("  retry: {times: 1, interval: 5, backoff: [5]}\n"), idRetryBoth, 6, 34, "not both"},
		{"retry eleven", jobYAML("  retry: {times: 11}\n"), idNumberRange, 6, 18, "from 0 to 10"},
		{"retry count", jobYAML("  retry: {times: 3, backoff: [5]}\n"), idRetryCount, 6, 30, "3 times"},
		{"retry without times", jobYAML("  retry: {interval: 5}\n"), idRetryTimes, 6, 10, "twice, 5 s apart"},
		{"retry empty", jobYAML("  retry: {}\n"), idRetryTimes, 6, 10, "30 s and then 60 s"},
		{"biz_date of no shift", jobYAML("  biz_date: T-0\n"), idValueUnknown, 6, 13, "did you mean T?"},
		{"retry number", jobYAML("  retry: 3\n"), idWantMap, 6, 10, "retry"},

		{"deps plain", jobYAML("  deps:\n    - up\n"), idDepPlain, 7, 7, "- name: up"},
		{"deps map", jobYAML("  deps: {name: up}\n"), idWantList, 6, 9, "list"},
		{"dep without name", jobYAML("  deps:\n    - check: success\n"), idDepName, 7, 7, "no name"},
		{"dep key", jobYAML("  deps:\n    - nam: up\n      name: up\n"), idDepKey, 7, 7, "did you mean name?"},
		{"dep twice", jobYAML("  deps:\n    - name: up\n    - name: default/up\n"), idDepTwice, 7, 5, "twice"},
		{"dep biz_date", jobYAML("  deps:\n    - name: up\n      biz_date: yesterday\n"), idDepDates, 8, 17, "month(current-1m)"},
		{"dep of itself", jobYAML("  deps:\n    - name: self\n      biz_date: current-1d\n"), idDepFirst, 7, 7, "first_date"},
		{"dep first_date", jobYAML("  deps:\n    - name: self\n      biz_date: current-1d\n      first_date: 2026-2-3\n"), idDepDate, 9, 19, "2026-01-01"},
		{"dep first_date of another", jobYAML("  deps:\n    - name: up\n      first_date: 2026-02-03\n"), idDepFirstOther, 8, 19, "itself"},
		{"trigger beside cron", jobYAML("  cron: \"0 2 * * *\"\n  trigger: upstream\n  deps:\n    - name: up\n"), idTriggerBeside, 7, 3, "cron"},
		{"trigger without deps", jobYAML("  trigger: upstream\n"), idTriggerDeps, 6, 3, "current"},
		{"trigger without current", jobYAML("  trigger: upstream\n  deps:\n    - name: up\n      biz_date: current-1d\n"), idTriggerDeps, 6, 3, "current"},
		{"trigger word", jobYAML("  trigger: upstreams\n"), idValueUnknown, 6, 12, "did you mean upstream?"},
		{"on_upstream_failure", jobYAML("  on_upstream_failure: go\n"), idValueUnknown, 6, 24, "hold"},
		{"dep check", jobYAML("  deps:\n    - name: up\n      check: sucess\n"), idValueUnknown, 8, 14, "did you mean success?"},
		{"dep require", jobYAML("  deps:\n    - name: up\n      require: some\n"), idValueUnknown, 8, 16, "latest"},

		{"exec without type", strings.Replace(jobYAML(""), "{type: noop}", "{command: x}", 1), idExecType, 5, 9, "type: shell"},
		{"exec type of two cases", strings.Replace(jobYAML(""), "noop", "Shell", 1), idExecTypeWord, 5, 16, "did you mean shell?"},
		{"exec type with a dot", strings.Replace(jobYAML(""), "noop", "acme.copy", 1), idExecTypeWord, 5, 16, "a-z, 0-9, - and _"},
		{"exec type too long", strings.Replace(jobYAML(""), "noop", strings.Repeat("a", 64), 1), idExecTypeWord, 5, 16, "63"},
		{"open type without a value", strings.Replace(jobYAML(""), "noop", "acme_copy, table:", 1), idValueEmpty, 5, 27, "table"},
		{"open type with a key twice", strings.Replace(jobYAML(""), "noop", "acme_copy, a: 1, a: 2", 1), idKeyTwice, 5, 33, "second time"},
		{"open type with a template", strings.Replace(jobYAML(""), "noop", "acme_copy, a: [x, {b: '{{nope}}'}]", 1), "template.unknown", 5, 39, "nope"},
		{"open type with a template for a key", strings.Replace(jobYAML(""), "noop", "acme_copy, '{{biz_date}}': 1", 1), "template.exec_key", 5, 43, "values only"},
		{"exec key", strings.Replace(jobYAML(""), "noop", "shell, comand: x, command: y", 1), idExecKey, 5, 23, "did you mean command?"},
		{"exec needs", strings.Replace(jobYAML(""), "noop", "shell", 1), idExecNeeds, 5, 9, "command"},
		{"empty command", strings.Replace(jobYAML(""), "noop", "shell, command: ' '", 1), idValueEmpty, 5, 32, "command"},
		{"url", strings.Replace(jobYAML(""), "noop", "http, url: 'ftp://x'", 1), idURLWrong, 5, 27, "https://"},
		{"url with password", strings.Replace(jobYAML(""), "noop", "http, url: 'http://a:b@x/'", 1), idURLWrong, 5, 27, "password"},
		{"header line", strings.Replace(jobYAML(""), "noop", `http, url: 'http://x/', headers: {X-A: "a\r\nB: c"}`, 1), idHeaderLine, 5, 55, "X-A"},
		{"header name", strings.Replace(jobYAML(""), "noop", `http, url: 'http://x/', headers: {"X A": b}`, 1), idHeaderName, 5, 50, "X A"},
		{"method", strings.Replace(jobYAML(""), "noop", `http, url: 'http://x/', method: get`, 1), idValueUnknown, 5, 48, "GET"},

		{"template unknown", shellYAML("echo {{biz_dat}}"), "template.unknown", 7, 19, "did you mean biz_date?"},
		{"template unknown 2", shellYAML("docker ps --format \"{{.Names}}\""), "template.unknown", 7, 34, "{{{{"},
		{"template param", shellYAML("echo {{params.dat}}") + "  params: {date: 1}\n", "template.param_unknown", 7, 19, "did you mean date?"},
		{"template upstream", shellYAML("echo {{upstream.a.result.k}}"), "template.upstream_dep", 7, 19, "does not depend on a"},
		{"template upstream without a key", shellYAML("echo {{upstream.a.k}}"), "template.upstream", 7, 19, "upstream.NAME.result.KEY"},
		{"template single quotes", shellYAML("echo 你好 '{{biz_date}}'"), "template.shell_single", 7, 23, "single quotes"},
		{"template open", shellYAML("echo {{biz_date}"), "template.unclosed", 7, 19, "}}"},
		{"template nested", jobYAML("  params: {a: \"{{params.b}}\", b: 1}\n"), "template.param_nested", 6, 16, "another parameter"},
		{"template in a block", "version: v1\njob:\n  name: a\n  timeout: 5\n  exec:\n    type: shell\n    command: |\n      echo {{biz_date}}\n        x 你 '{{trace_id}}'\n", "template.shell_single", 9, 14, "trace_id"},
		{"template in folded text", "version: v1\njob:\n  name: a\n  timeout: 5\n  exec:\n    type: shell\n    command: >\n      echo a\n      b c '{{trace_id}}'\n", "template.shell_single", 9, 12, "trace_id"},
		{"template behind escapes", "version: v1\njob:\n  name: a\n  timeout: 5\n  env:\n    A: \"\\u4f60\\t'x' {{nope}}\"\n  exec: {type: noop}\n", "template.unknown", 6, 21, "nope"},
		{"template in single-quoted YAML", "version: v1\njob:\n  name: a\n  timeout: 5\n  env:\n    A: 'it''s {{nope}}'\n  exec: {type: noop}\n", "template.unknown", 6, 15, "nope"},
		{"template on a second line", "version: v1\njob:\n  name: a\n  timeout: 5\n  env:\n    A: one\n      two {{nope}}\n  exec: {type: noop}\n", "template.unknown", 7, 11, "nope"},
	}
}

func shellYAML(command string) string {
	return "version: v1\njob:\n  name: a\n  timeout: 5\n  exec:\n    type: shell\n    command: " + command + "\n"
}

func TestBadFilesAreRefusedInPlace(t *testing.T) {
	say := speaker(t, "en")
	chinese := speaker(t, "zh-CN")
	for _, c := range slices.Concat(refusals(), execRefusals()) {
		t.Run(c.name, func(t *testing.T) {
			jobs, all := ParseFile([]byte(c.text), options())
			if len(jobs) != 0 {
				t.Fatalf("taken: %+v", jobs[0].Spec)
			}
			found := slices.IndexFunc(all, func(p Problem) bool { return p.ID == c.id })
			if found < 0 {
				t.Fatalf("want %s, got\n%s", c.id, all.Render(say))
			}
			p := all[found]
			if p.Line != c.line || p.Column != c.col {
				t.Errorf("at %d:%d, want %d:%d\n%s", p.Line, p.Column, c.line, c.col, p.Render(say))
			}
			if text := p.Render(say); !strings.Contains(text, c.says) || !strings.HasPrefix(text, "a.yaml:") {
				t.Errorf("want %q in\n%s", c.says, text)
			}
			if len(all.Errors()) != 1 {
				t.Errorf("one fault gave %d errors:\n%s", len(all.Errors()), all.Render(say))
			}
			for _, p := range all {
				if text := p.Render(say) + p.Render(chinese); strings.Contains(text, "⟦") {
					t.Errorf("a text or a value is missing: %s", text)
				}
			}
		})
	}
}

func TestRenderingPointsAtThePlace(t *testing.T) {
	_, problems := ParseFile([]byte(shellYAML("echo 你好 '{{biz_date}}'")), options())
	want := "a.yaml:7:23: error: {{biz_date}} stands inside single quotes, where the shell replaces nothing\n" +
		"    7 |     command: echo 你好 '{{biz_date}}'\n" +
		"      |                         ^\n" +
		"  hint: take the single quotes away or make them double: AX quotes the value itself\n"
	if got := problems.Render(speaker(t, "en")); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	long := Problem{Line: 1, Column: 3001, ID: "x", Source: strings.Repeat("a", 3000) + "\x1b[31m" + strings.Repeat("b", 900)}
	got := long.Render(func(key string, _ map[string]string) string { return key })
	if strings.Contains(got, "\x1b") || len(got) > 600 {
		t.Errorf("a long line with an escape rendered as %q", got)
	}
	lines := strings.Split(got, "\n")
	if caret := strings.Index(lines[2], "^"); []rune(lines[1])[caret] != '·' {
		t.Errorf("the caret misses:\n%s", got)
	}
}

func TestNamesOfAnyScript(t *testing.T) {
	for _, good := range []string{"a", "order_stat_daily", "报表-每日", "заказ.v2", "_x", "7z", "A", strings.Repeat("名", 100)} {
		if id := NameFault(good); id != "" {
			t.Errorf("%q is refused: %s", good, id)
		}
	}
}

// TestEveryTextIsThere holds the catalogs against the ids in the code: none missing, none left
// over, the same placeholders in both languages.
func TestEveryTextIsThere(t *testing.T) {
	want := map[string]bool{"problem.error": true, "problem.warning": true, "problem.hint": true}
	for _, file := range []string{"ids.go", "execids.go", "template/ids.go"} {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok {
				id, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				kind := "problem."
				if strings.HasPrefix(strings.ToLower(v.Names[0].Name), "hint") {
					kind = "hint."
				}
				want[kind+id] = true
			}
			return true
		})
	}
	en, zh := catalog(t, "en"), catalog(t, "zh-CN")
	for key := range want {
		a, b := slices.Sorted(slices.Values(placeholder.FindAllString(en[key], -1))), slices.Sorted(slices.Values(placeholder.FindAllString(zh[key], -1)))
		a = slices.DeleteFunc(a, func(s string) bool { return s[1] == '{' })
		b = slices.DeleteFunc(b, func(s string) bool { return s[1] == '{' })
		if en[key] == "" || zh[key] == "" || !slices.Equal(a, b) {
			t.Errorf("%s: en %q, zh-CN %q", key, en[key], zh[key])
		}
	}
	for key := range en {
		if !want[key] {
			t.Errorf("%s is in the catalog and nowhere in the code", key)
		}
	}
	if len(zh) != len(en) {
		t.Errorf("en has %d texts, zh-CN %d", len(en), len(zh))
	}
}
