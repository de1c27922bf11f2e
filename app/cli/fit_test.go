package cli

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// On a terminal no line of a list with sentences is wider than it, and all that a line of a file says is there.
func TestSentencesFitTheTerminal(t *testing.T) {
	head := []string{"KIND", "ABOUT", "STATE", "OPENED", "TIMES", "EXAMPLE", "MESSAGE", "ID"}
	rows := [][]string{
		{"job_failed", "pay/settle", "open", "2026-02-03 10:00:03 +08:00", "3", "411052400640000001", "exit code 3: the table orders of the day is not there, and 路径不对; look at https://example.com/a/very/long/address/of/a/page", "411052400640000021"},
		{"clock", "worker-08", "over: closed by wang: the machine was replaced and its clock with it", "2026-02-03 10:00:03 +08:00", "1", "", "", "411052400640000019"},
	}
	for _, wide := range []int{0, 40, 80, 100, 120, 140, 170, 200, 400} {
		var out bytes.Buffer
		p := &process{out: &out, wide: wide}
		if err := p.table(head, [][]string{rows[0][:8:8], rows[1][:8:8]}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		for _, line := range lines {
			if wide > 0 && columns(line) > wide {
				t.Errorf("%d columns: %q", wide, line)
			}
		}
		if wide == 0 || wide == 400 {
			if len(lines) != 3 {
				t.Errorf("%d columns: %d lines\n%s", wide, len(lines), out.String())
			}
		}
		packed := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if wide == 80 || wide == 120 {
			for _, id := range []string{"411052400640000021", "411052400640000019", "411052400640000001"} {
				if strings.Count(out.String(), id) != 1 {
					t.Errorf("%d columns: %s is not whole\n%s", wide, id, out.String())
				}
			}
		}
		if wide == 80 && !strings.Contains(packed(out.String()), packed("MESSAGE "+rows[0][6])) {
			t.Errorf("the message is not whole:\n%s", out.String())
		}
	}
}

func TestATableWithoutSentencesStaysAsItIs(t *testing.T) {
	rows := func() [][]string { return [][]string{{"411052400640000001", "order_stat_daily", "running/executing"}} }
	var narrow, whole bytes.Buffer
	for out, wide := range map[*bytes.Buffer]int{&narrow: 30, &whole: 0} {
		if err := (&process{out: out, wide: wide}).table([]string{"ID", "JOB", "STATE"}, rows()); err != nil {
			t.Fatal(err)
		}
	}
	if narrow.String() != whole.String() {
		t.Errorf("%q, %q", narrow.String(), whole.String())
	}
}

func TestWrapBreaksBetweenWordsAndLosesNothing(t *testing.T) {
	for text, want := range map[string]string{"": "", "a": "a", "ab cd": "ab cd", "ab cd ef": "ab cd|ef", "abcdefgh": "abcde|fgh", "a bcdefgh i": "a|bcdef|gh i", "路径不对了": "路径|不对|了"} {
		if got := strings.Join(wrap(text, 5), "|"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		var words []string
		for range r.IntN(12) {
			words = append(words, strings.Repeat(string([]rune("ab路é")[r.IntN(4)]), 1+r.IntN(9)))
		}
		wide := 2 + r.IntN(12)
		lines := wrap(strings.Join(words, " "), wide)
		for _, line := range lines {
			if columns(line) > wide {
				t.Fatalf("seed %d: %q is wider than %d", seed, line, wide)
			}
		}
		if got := strings.ReplaceAll(strings.Join(lines, ""), " ", ""); got != strings.Join(words, "") {
			t.Fatalf("seed %d: %s", seed, fmt.Sprint(lines, words))
		}
	}
}

func TestWhatIsNoTerminalHasNoWidth(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for _, w := range []io.Writer{f, &bytes.Buffer{}} {
		if got := terminalWidth(w); got != 0 {
			t.Errorf("%T has %d columns", w, got)
		}
	}
}
