package template

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/axsched/ax/modules/domain"
)

func shellSpec(command string, params map[string]string) domain.JobSpec {
	raw, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		panic(err)
	}
	return domain.JobSpec{Project: "default", Name: "j", Params: params, Exec: domain.Exec{Type: "shell", Spec: raw}}
}

func day(s string) domain.BizDate {
	d, err := domain.ParseBizDate(s)
	if err != nil {
		panic(err)
	}
	return d
}

func someVars(params map[string]string) Vars {
	return Vars{BizDate: day("2026-03-31"), Expected: time.Date(2026, 3, 31, 18, 0, 0, 0, time.UTC),
		Zone: time.FixedZone("CST", 8*3600), TraceID: "a1b2", Attempt: 2, Params: params}
}

func commandOf(t interface{ Fatal(...any) }, r Rendered) string {
	var spec struct{ Command string }
	if err := json.Unmarshal(r.Exec, &spec); err != nil {
		t.Fatal(err)
	}
	return spec.Command
}

func TestCommandBecomesReferences(t *testing.T) {
	for command, want := range map[string]string{
		`python3 run_stat.py --date {{biz_date}}`:    `python3 run_stat.py --date "${AX_V1}"`,
		`echo "on {{ biz_date }}x" {{biz_date}}`:     `echo "on ${AX_V1}x" "${AX_V1}"`,
		`echo {{biz_date}} {{biz_date-1d}}`:          `echo "${AX_V1}" "${AX_V2}"`,
		`echo {{{{biz_date}}`:                        `echo {{biz_date}}`,
		`X={{params.p}} run`:                         `X="${AX_V1}" run`,
		`sh -c 'echo "$1"' _ {{params.p}}`:           `sh -c 'echo "$1"' _ "${AX_V1}"`,
		`awk -v d={{params.p}} '{print d}' f`:        `awk -v d="${AX_V1}" '{print d}' f`,
		`awk '{print $1}' {{params.p}}`:              `awk '{print $1}' "${AX_V1}"`,
		`cat < {{params.p}} > {{params.p}}.out`:      `cat < "${AX_V1}" > "${AX_V1}".out`,
		`export D={{params.p}}; run`:                 `export D="${AX_V1}"; run`,
		`sh -c "run {{biz_date}}"`:                   `sh -c "run ${AX_V1}"`,
		"cat <<'E'\n$(x) ' \"\nE\necho {{params.p}}": "cat <<'E'\n$(x) ' \"\nE\necho \"${AX_V1}\"",
		"# it's\necho {{params.p}}":                  "# it's\necho \"${AX_V1}\"",
		"a#b {{params.p}}":                           "a#b \"${AX_V1}\"",
		`echo $$ $# "$?" \$ {{params.p}}`:            `echo $$ $# "$?" \$ "${AX_V1}"`,
		`if true; then echo {{params.p}}; fi`:        `if true; then echo "${AX_V1}"; fi`,
		`for x in {{params.p}}; do echo $x; done`:    `for x in "${AX_V1}"; do echo $x; done`,
		`curl -H "X: $(date +%s)" {{params.p}}`:      `curl -H "X: $(date +%s)" "${AX_V1}"`,
		`echo $(( (1+2) * 3 )) {{params.p}}`:         `echo $(( (1+2) * 3 )) "${AX_V1}"`,
		`echo $(( 1 << 3 )) {{params.p}}`:            `echo $(( 1 << 3 )) "${AX_V1}"`,
		`"$RUN" {{params.p}}`:                        `"$RUN" "${AX_V1}"`,
		`mysql -h db {{params.p}} < q.sql`:           `mysql -h db "${AX_V1}" < q.sql`,
	} {
		r, err := Render(shellSpec(command, map[string]string{"p": "v"}), someVars(nil))
		if err != nil {
			t.Errorf("%s: %v", command, err)
			continue
		}
		if got := commandOf(t, r); got != want {
			t.Errorf("%s\n gives %s\n want  %s", command, got, want)
		}
	}
}

func TestUnsafePlacesAreRefused(t *testing.T) {
	for command, want := range map[string]string{
		`echo '{{params.p}}'`:                        IDShellSingle,
		`echo $'{{params.p}}'`:                       IDShellSingle,
		`echo "$(echo {{params.p}})"`:                IDShellSubst,
		`echo $(echo "{{params.p}}")`:                IDShellSubst,
		`echo $(a $(b) {{biz_date}})`:                IDShellSubst,
		"echo `echo {{params.p}}`":                   IDShellBacktick,
		"echo \"`echo {{biz_date}}`\"":               IDShellBacktick,
		`echo ${x:-{{params.p}}}`:                    IDShellBrace,
		`echo "${x:-{{params.p}}}"`:                  IDShellBrace,
		`echo $(( {{params.p}} + 1 ))`:               IDShellArith,
		"cat <<E\n{{params.p}}\nE":                   IDShellHeredoc,
		"cat <<'E'\n{{params.p}}\nE":                 IDShellHeredoc,
		"cat <<-E | x\n\t{{params.p}}\n\tE":          IDShellHeredoc,
		"cat <<A <<B\nA\n{{params.p}}\nB":            IDShellHeredoc,
		`echo a # {{params.p}}`:                      IDShellComment,
		"#{{params.p}}":                              IDShellComment,
		"x;# {{params.p}}":                           IDShellComment,
		`echo \{{params.p}}`:                         IDShellEscape,
		`echo "\{{params.p}}"`:                       IDShellEscape,
		`echo ${{params.p}}`:                         IDShellDollar,
		`echo "${{params.p}}"`:                       IDShellDollar,
		`{{params.p}} x`:                             IDShellCommand,
		`"{{params.p}}" x`:                           IDShellCommand,
		`/bin/{{params.p}}`:                          IDShellCommand,
		`true && {{params.p}}`:                       IDShellCommand,
		`2>/dev/null {{params.p}}`:                   IDShellCommand,
		`X=1 {{params.p}}`:                           IDShellCommand,
		`exec {{params.p}}`:                          IDShellCommand,
		`. {{params.p}}`:                             IDShellCommand,
		"if true\nthen {{params.p}}\nfi":             IDShellCommand,
		`env A=1 {{params.p}}`:                       IDShellCommand,
		`a[{{params.p}}]=1`:                          IDShellCommand,
		`eval echo {{params.p}}`:                     IDShellCode,
		`sh -c "echo {{params.p}}"`:                  IDShellCode,
		`nohup bash -lc {{params.p}}`:                IDShellCode,
		`/bin/sh -c {{params.p}}`:                    IDShellCode,
		`ssh h "rm {{params.p}}"`:                    IDShellCode,
		`python3 -c "print({{params.p}})"`:           IDShellCode,
		`mysql -e "select {{params.p}}"`:             IDShellCode,
		`mysql --execute="select {{params.p}}"`:      IDShellCode,
		`awk "{print {{params.p}}}" f`:               IDShellCode,
		`sed -e "s/x/{{params.p}}/" f`:               IDShellCode,
		`export {{params.p}}`:                        IDShellCode,
		`[[ {{params.p}} -eq 1 ]]`:                   IDShellCode,
		`PATH=$PATH:{{params.p}} run`:                IDShellCode,
		`export LD_PRELOAD={{params.p}}`:             IDShellCode,
		`RANDOM={{params.p}}`:                        IDShellCode,
		`declare -i x={{params.p}}`:                  IDShellUnclear,
		"declare -i x\nx={{params.p}}":               IDShellUnclear,
		`$RUN {{params.p}}`:                          IDShellCommand,
		"`x` {{params.p}}":                           IDShellCommand,
		`sh -c $X {{params.p}}`:                      IDShellCode,
		`trap {{params.p}} EXIT`:                     IDShellCode,
		`echo $(case x in x) y;; esac) {{params.p}}`: IDShellUnclear,
		`((x<<2)); echo {{params.p}}`:                IDShellUnclear,
		`echo $'a\'b' {{params.p}}`:                  IDShellUnclear,
		"cat <<$X\n$X\necho {{params.p}}":            IDShellUnclear,
		"cat <<E\na\\\nE\nE\necho {{params.p}}":      IDShellUnclear,
		"cat <\\\n<E\necho '\nE\necho {{params.p}}":  IDShellUnclear,
	} {
		_, issues := Compile(shellSpec(command, map[string]string{"p": "v"}))
		if len(issues) != 1 || issues[0].ID != want {
			t.Errorf("%q: %+v, want %s", command, issues, want)
			continue
		}
		if at := issues[0].Offset; !strings.HasPrefix(command[at:], "{{") {
			t.Errorf("%q: the offset %d is not at the braces", command, at)
		}
	}
}

// nasty draws values that break quoting where it is weak.
func nasty(t *rapid.T, label string) string {
	piece := rapid.SampledFrom([]string{"'", `"`, "`", "$(id)", "${x}", "$x", "`id`", "\n", "\t", " ", "\\", `\n`, ";", "|", "&", "<", ">",
		"(", ")", "*", "?", "[", "]", "~", "#", "!", "=", "%s", "{{biz_date}}", "{{{{", "}}", "a", "é", "数据", "😀", "; rm -rf x", "--", "-n", "\r", "\x01", "$'", "EOF"})
	return strings.Join(rapid.SliceOfN(piece, 0, 8).Draw(t, label), "")
}

// before draws shell text that comes before and must not confuse the reader.
func before(t *rapid.T) string {
	piece := rapid.SampledFrom([]string{
		"", ": 'single \" $( '\n", ": \"double ' \\\" \\$ \\` x\"\n", "# it's a \" comment $( `\n", ": a#b\n", ": $(: ')' \")\")\n",
		": `: x`\n", ": \"$(: \"in ner\" ')')\"\n", ": ${HOME:-'}'}\n", ": \"${HOME:-x}\"\n", ": $((1 + (2 * 3)))\n", ": $((1<<2))\n",
		": <<'E'\n' \" ` $(\nE\n", ": <<E\nit is \" '\nE\n", ": <<-\"E\"\n\t'\n\tE\n", ": <<A <<'B'\n'\nA\n\"\nB\n", ": \\' \\\" \\$ \\` \\#\n",
		": $$ $# $? \"$#\" $\n", ": a \\\n  b\n", "if true; then :; fi\n", "for i in 1; do :; done\n", ": > /dev/null 2>&1\n", "{ :; }\n", "(:)\n",
		"case x in x) : ;; (y) : ;; esac\n", ": $(: # ) '\n)\n", ": '' \"\"\n", ": \"a\nb\" 'c\nd'\n", ": $(cat <<'E'\n) ' \"\nE\n)\n",
	})
	return strings.Join(rapid.SliceOfN(piece, 0, 5).Draw(t, "before"), "")
}

// TestValueIsOneArgument runs random values in random places through both shells: what the
// command gets is the value, byte for byte, as one argument, and nothing of it is run.
func TestValueIsOneArgument(t *testing.T) {
	shells := []string{"sh", "bash"}
	for _, s := range shells {
		if _, err := exec.LookPath(s); err != nil {
			t.Skipf("%s is not on this machine", s)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		params := map[string]string{"a": nasty(t, "a"), "b": nasty(t, "b")}
		command, want := before(t)+`printf '%s\0'`, ""
		for range rapid.IntRange(1, 3).Draw(t, "words") {
			word, value := word(t, params)
			command += " " + word
			want += value + "\x00"
		}
		command += rapid.SampledFrom([]string{"", "\n", " # done", "; :", " | cat", " 2>/dev/null"}).Draw(t, "after")
		r, err := Render(shellSpec(command, map[string]string{"a": "", "b": ""}), someVars(params))
		if err != nil {
			t.Fatalf("%q is refused: %v", command, err)
		}
		for _, shell := range shells {
			cmd := exec.Command(shell, "-c", commandOf(t, r))
			cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=/nowhere", "LC_ALL=C.UTF-8"}
			for k, v := range r.Env {
				cmd.Env = append(cmd.Env, k+"="+v)
			}
			out, err := cmd.Output()
			if err != nil || string(out) != want {
				t.Fatalf("%s -c %q\n gave %q (%v)\n want %q", shell, commandOf(t, r), out, err, want)
			}
		}
	})
}

// word draws one shell word of literal pieces and substitutions, and the argument it must give.
func word(t *rapid.T, params map[string]string) (text, value string) {
	for range rapid.IntRange(1, 4).Draw(t, "pieces") {
		name := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "param")
		ref, val := "{{params."+name+"}}", params[name]
		switch rapid.IntRange(0, 5).Draw(t, "piece") {
		case 0:
			text, value = text+ref, value+val
		case 1:
			text, value = text+`"`+ref+`"`, value+val
		case 2:
			text, value = text+`"x '`+ref+`' \" \\`+ref+`"`, value+`x '`+val+`' " \`+val
		case 3:
			text, value = text+`'{"k": "$("}'`, value+`{"k": "$("}`
		case 4:
			text, value = text+`--d=`, value+`--d=`
		case 5:
			text, value = text+`\$`+ref, value+`$`+val
		}
	}
	return text, value
}

// FuzzLexer: whatever the text, each substitution gets one placement, in order.
func FuzzLexer(f *testing.F) {
	f.Add("echo {{biz_date}} '{{biz_date}}' \"$(x {{biz_date}})\" `{{biz_date}}\\{{biz_date}}` ${a{{biz_date}}\\{{biz_date}}}")
	f.Add("cat <<E {{biz_date}}\n{{biz_date}}\nE\n$(( {{biz_date}} (( ")
	f.Add("\\{{biz_date}}${\\{{biz_date}}$'\\{{biz_date}}")
	f.Fuzz(func(t *testing.T, command string) {
		parts, _ := parse(command)
		n := 0
		for _, p := range parts {
			if p.expr != nil {
				n++
			}
		}
		if got := len(lex(parts)); got != n {
			t.Fatalf("%d substitutions, %d placements", n, got)
		}
	})
}
