package job

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/axsched/ax/modules/domain"
)

// execYAML is a file with these lines under exec:, the first of which is line 6.
func execYAML(lines ...string) string {
	return "version: v1\njob:\n  name: a\n  timeout: 5\n  exec:\n    " + strings.Join(lines, "\n    ") + "\n"
}

// execRefusals are those of what a job runs, by type.
func execRefusals() []refusal {
	http := func(lines ...string) string {
		return execYAML(append([]string{"type: http", "url: https://x/"}, lines...)...)
	}
	sql := func(lines ...string) string {
		return execYAML(append([]string{"type: sql", "source: orders"}, lines...)...)
	}
	return []refusal{
		{"success code", execYAML("type: shell", "command: x", "success_codes: [0, 256]"), idNumberRange, 8, 24, "255"},
		{"success code twice", execYAML("type: shell", "command: x", "success_codes: [0, 0]"), idListTwice, 8, 24, "twice"},
		{"no success codes", execYAML("type: shell", "command: x", "success_codes: []"), idListLong, 8, 20, "0 entries"},
		{"cwd", execYAML("type: shell", "command: x", "cwd: here"), idPathRelative, 8, 10, "absolute path"},
		{"shell", execYAML("type: shell", "command: x", "shell: powershell"), idValueUnknown, 8, 12, "sh, bash"},
		{"dump signal", execYAML("type: shell", "command: x", "dump_signal: SIGKILL"), idValueUnknown, 8, 18, "SIGINT"},
		{"user", execYAML("type: shell", "command: x", "user: a b"), idNameSpace, 8, 11, "space"},
		{"template in cwd", execYAML("type: shell", "command: x", "cwd: /data/{{biz_date}}"), "template.no_place", 8, 16, "biz_date"},

		{"python without script", execYAML("type: python"), idExecOneOf, 6, 5, "script or file"},
		{"python with both", execYAML("type: python", "script: x", "file: /x.py"), idExecBoth, 8, 11, "exclude"},
		{"python with venv and interpreter", execYAML("type: python", "script: x", "venv: /v", "interpreter: python3"), idExecBoth, 8, 11, "interpreter"},
		{"python file", execYAML("type: python", "file: x.py"), idPathRelative, 7, 11, "absolute"},
		{"python interpreter", execYAML("type: python", "script: x", "interpreter: python3 -O"), idInterpreter, 8, 18, "python3 -O"},
		{"python args", execYAML("type: python", "script: x", "args: {a: 1}"), idWantList, 8, 11, "list"},
		{"value in a script", execYAML("type: python", "script: |", "  a = 1", "  print('{{params.d}}')"), "template.script", 9, 14, "AX_PARAM_d"},
		{"date in a script", execYAML("type: python", `script: "print(f'{{ biz_date }}')"`), "template.script", 7, 22, "sys.argv"},
		{"unknown value in an argument", execYAML("type: python", "script: x", "args: [a, '{{biz_dat}}']"), "template.unknown", 8, 16, "biz_date"},

		{"status", http("expect_status: [200, 99]"), idNumberRange, 8, 26, "599"},
		{"status as text", http("expect_status: ok"), idWantNumber, 8, 20, "number"},
		{"pointer", http("expect_json: {data.state: ok}"), idPointer, 8, 19, "/data/state"},
		{"pointer with a bare tilde", http("expect_json: {/a~b: ok}"), idPointer, 8, 19, "~0"},
		{"condition is a list", http("expect_json: {/a: [1]}"), idWantText, 8, 23, "must be text"},
		{"no condition", http("expect_json: {}"), idValueEmpty, 8, 18, "no value"},
		{"tls key", http("tls: {cafile: /x}"), idExecKey, 8, 11, "mean ca_file?"},
		{"tls path", http("tls: {ca_file: x.pem}"), idPathRelative, 8, 20, "absolute"},
		{"tls pair", http("tls: {cert_file: /x.pem}"), idTLSPair, 8, 10, "belong together"},
		{"tls insecure", http("tls: {insecure_skip_verify: true}"), idTLSInsecure, 8, 11, "ca_file"},
		{"template in tls", http("tls: {ca_file: '/{{biz_date}}'}"), "template.no_place", 8, 22, "biz_date"},
		{"unknown value in a condition", http("expect_json: {/day: '{{biz_dat}}'}"), "template.unknown", 8, 26, "biz_date"},

		{"sql without source", execYAML("type: sql", "sql: select 1"), idExecNeeds, 6, 5, "source"},
		{"sql without statements", sql(), idExecNeeds, 6, 5, "needs sql"},
		{"sql empty", sql("sql: ' '"), idValueEmpty, 8, 10, "no value"},
		{"sql of comments", sql("sql: '-- later'"), "template.sql_empty", 8, 11, "no statement"},
		{"transaction", sql("sql: select 1", "transaction: maybe"), idWantBoolean, 9, 18, "true or false"},
		{"value in a string", sql("sql: |", "  select 1;", "  select '{{biz_date}}'"), "template.sql_string", 10, 15, "take the quotes away"},
		{"value in a comment", sql("sql: select 1 -- {{biz_date}}"), "template.sql_comment", 8, 22, "comment"},
		{"value in a name", sql("sql: select * from t_{{biz_date}}"), "template.sql_word", 8, 26, "part of a name"},
		{"open string", sql(`sql: "select 'a"`), "template.sql_unclosed", 8, 11, "line 1"},
		{"commit", sql("sql: delete from t; commit"), "template.sql_commits", 8, 10, "transaction: false"},
		{"value in a listed string", sql("sql:", "  - select 1", "  - select 'x {{biz_date}}'"), "template.sql_string", 10, 19, "biz_date"},
	}
}

// What a file says of its exec is what a worker is told, byte for byte.
func TestExecIsReadAsWritten(t *testing.T) {
	for text, want := range map[string]string{
		execYAML("type: shell", "command: x", "cwd: /tmp", "shell: bash", "success_codes: 3", "dump_signal: SIGTERM"):                                                             `{"command":"x","cwd":"/tmp","dump_signal":"SIGTERM","shell":"bash","success_codes":[3]}`,
		execYAML("type: python", "script: |", "  print(f'{{x}}')", "args: ['', ' a ', 007]", "venv: /v"):                                                                          `{"args":[""," a ","007"],"script":"print(f'{{x}}')\n","venv":"/v"}`,
		execYAML("type: python", "file: /x.py", "args: one", "interpreter: python3.12", "success_codes: [0, 4]"):                                                                  `{"args":["one"],"file":"/x.py","interpreter":"python3.12","success_codes":[0,4]}`,
		execYAML("type: http", "url: https://x/", "expect_status: [200, 204]", "expect_json: {/a: ok, /b: 3, /c: true, /d: null, /e: '3'}", "tls: {ca_file: /c, server_name: x}"): `{"expect_json":{"/a":"ok","/b":3,"/c":true,"/d":null,"/e":"3"},"expect_status":[200,204],"method":"GET","tls":{"ca_file":"/c","server_name":"x"},"url":"https://x/"}`,
		execYAML("type: sql", "source: orders", "sql: select 1", "transaction: false"):                                                                                            `{"source":"orders","sql":"select 1","transaction":false}`,
		execYAML("type: sql", "source: orders", "sql: [select 1, 'create trigger t begin x; end']"):                                                                               `{"source":"orders","sql":["select 1","create trigger t begin x; end"]}`,
	} {
		got := parseOne(t, text).Spec.Exec
		var a, b any
		if json.Unmarshal(got.Spec, &a) != nil || json.Unmarshal([]byte(want), &b) != nil || !reflect.DeepEqual(a, b) {
			t.Errorf("%s\ngot  %s\nwant %s", text, got.Spec, want)
		}
	}
}

// What exec names of a worker's set-up is demanded of the worker, as its tags are.
func TestADataSourceIsDemandedOfTheWorker(t *testing.T) {
	for text, want := range map[string][]string{
		execYAML("type: sql", "source: 订单", "sql: select 1") + "  tags: [gpu]\n": {"gpu", domain.NeedSource("订单")},
		execYAML("type: shell", "command: x", "user: etl"):                       {domain.NeedUser("etl")},
		execYAML("type: shell", "command: x"):                                    nil,
	} {
		spec := parseOne(t, text).Spec
		if !slices.Equal(spec.Demands(), want) || slices.Contains(spec.Tags, domain.NeedSource("订单")) {
			t.Errorf("%s demands %q, want %q", text, spec.Demands(), want)
		}
	}
}
