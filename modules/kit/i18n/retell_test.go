package i18n

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestWhatWasWrittenDownIsRetold(t *testing.T) {
	ctx := WithClock(With(context.Background(), Chinese), time.Time{}, time.FixedZone("", 8*3600))
	for text, want := range map[string]string{
		"worker worker-07 (boot 3) has been silent for 10s":                                                                            "执行节点 worker-07（第 3 次启动）已有 10 秒没有心跳",
		"worker w1 (boot 3) has not been heard since 2026-02-03T04:05:06Z":                                                             "执行节点 w1（第 3 次启动）自 2026-02-03 12:05:06 UTC+8 起没有心跳",
		"worker w1 (boot 3) has not been heard since 2026-02-03T04:05:06Z, and could not write its journal before that: disk full (x)": "执行节点 w1（第 3 次启动）自 2026-02-03 12:05:06 UTC+8 起没有心跳，此前无法写入 journal：磁盘已满（x）",
		"may have run in part: worker w (boot 3) was restarted":                                                                        "可能已执行了一部分：执行节点 w（第 3 次启动）已重启",
		"retry 1 of 2 in 30s: exit code 3; 2 processes left behind were killed":                                                        "第 1 次重试（共 2 次）将在 30 秒后开始：退出码 3；遗留的 2 个进程已被终止",
		"exit code 137, as a shell reports a command that SIGKILL ended":                                                               "退出码 137，即 shell 报告命令被 SIGKILL 结束",
		"; 2 processes left behind were killed":                                                                                        "；遗留的 2 个进程已被终止",
		"killed by ana: wrong date":                                                                                                    "由 ana 终止：wrong date",
		"attempt 1 on w1 taken back: no ack within 5s":                                                                                 "第 1 次执行已从 w1 收回：5 秒内没有确认",
		"refused: the worker's clock is 6.2 s ahead of the center's":                                                                   "被拒绝：执行节点的时钟比中心快 6.2 秒",
		"timed out after 1m0.003s; SIGKILL was needed 3s later":                                                                        "",
		"no such file: /data/x":                                                                                                        "no such file: /data/x",
		"exit code of the bank was 3":                                                                                                  "exit code of the bank was 3",
		"retry 1 of 2 in 30s: FileNotFoundError: 'a; b'":                                                                               "第 1 次重试（共 2 次）将在 30 秒后开始：FileNotFoundError: 'a; b'",
		"upstream load (instance 77) is failed/error":                                                                                  "上游 load（实例 77）为 失败, 出错",
		"error reported at 2026-02-03T04:05:06.5Z: superseded: the instance is cancelled/killed. exit code 1":                          "error 于 2026-02-03 12:05:06 UTC+8 上报：已被取代：实例为 已取消, 已终止。退出码 1",
		"": "",
	} {
		got := Retell(ctx, text)
		if want == "" && text != "" && regexp.MustCompile(`[a-z]{3}`).MatchString(got) || want != "" && got != want {
			t.Errorf("%q is retold as %q, want %q", text, got, want)
		}
		if english := Retell(context.Background(), text); english != text {
			t.Errorf("in English %q became %q", text, english)
		}
	}
}

// Each sentence is recognised as itself, whatever stands in its places, and not as another.
func TestEachSentenceIsItself(t *testing.T) {
	for _, s := range sentences() {
		text := placeholder.ReplaceAllStringFunc(catalogs()[English][s.key].other, func(found string) string {
			if found == "{n}" || found == "{m}" {
				return "7"
			}
			return "x"
		})
		for _, o := range sentences() {
			if o.form.MatchString(text) {
				if o.key != s.key && o.sure > s.sure {
					t.Errorf("%q is taken for %s", text, o.key)
				}
				break
			}
		}
	}
}

// bygone are sentences that the code no longer writes, and that rows of before still have.
var bygone = map[string]bool{"evidence.silent": true, "evidence.silent_disk": true}

// A sentence that the code no longer writes would never be recognised: its longest part
// stands somewhere in the code.
func TestEvidenceIsWhatTheCodeWrites(t *testing.T) {
	var code strings.Builder
	sources(t, func(path, text string) {
		if !strings.Contains(path, "i18n") && !strings.Contains(path, "storybook") {
			code.WriteString(text)
		}
	}, ".go")
	all := code.String()
	for _, s := range sentences() {
		if bygone[s.key] {
			continue
		}
		longest := ""
		for _, part := range regexp.MustCompile(`\{\w+\}|ahead of|behind`).Split(catalogs()[English][s.key].other, -1) {
			if part = strings.Trim(part, " :;()\""); len(part) > len(longest) {
				longest = part
			}
		}
		if !strings.Contains(all, longest) {
			t.Errorf("nobody writes %q (%s)", longest, s.key)
		}
	}
}
