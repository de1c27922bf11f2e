package runner

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

var t0 = time.UnixMilli(1_770_000_000_000)

func spoolIn(t *testing.T, l Limits) *Spool {
	t.Helper()
	s, err := OpenSpool(t.TempDir(), l)
	must(t, err)
	return s
}

// readAll reads a log in batches of n lines until nothing more is there.
func readAll(t testing.TB, c *Capture, n int) []Line {
	t.Helper()
	var all []Line
	from := int64(1)
	for {
		b, err := c.Lines(from, n)
		if err != nil {
			t.Fatal(err)
		}
		for i, l := range b.Lines {
			if l.Seq != from+int64(i) {
				t.Fatalf("Seq %d where %d was due", l.Seq, from+int64(i))
			}
		}
		all = append(all, b.Lines...)
		from = b.Next
		if b.Done || len(b.Lines) == 0 {
			return all
		}
	}
}

func texts(lines []Line) string {
	var b strings.Builder
	for _, l := range lines {
		sep := ":"
		if l.Cont {
			sep = "+"
		}
		fmt.Fprintf(&b, "%d%s%s%s|", l.N, l.Stream, sep, l.Text)
	}
	return b.String()
}

func TestLinesOfBothStreams(t *testing.T) {
	c := spoolIn(t, Limits{}).Create(7)
	c.Write(Out, t0, []byte("one\ntw"))
	c.Write(Err, t0, []byte("oops\n"))
	c.Write(Out, t0, []byte("o\n\n"))
	c.Log(t0, "from ax")
	want := "1out:one|3err:oops|2out:two|4out:|5ax:from ax|"
	if got := texts(readAll(t, c, 2)); got != want {
		t.Errorf("while running: %s, want %s", got, want)
	}
	c.Write(Out, t0, []byte("no newline"))
	if b, err := c.Lines(6, 10); err != nil || len(b.Lines) != 0 || b.Done {
		t.Errorf("an unfinished line was given out: %+v %v", b, err)
	}
	c.Finish(t0)
	c.Write(Out, t0, []byte("too late\n"))
	if got := texts(readAll(t, c, 100)); got != want+"6out:no newline|" {
		t.Errorf("at the end: %s", got)
	}
	if st := c.Stats(); st != (Stats{Lines: 6, Bytes: 32}) {
		t.Errorf("stats %+v", st)
	}
}

func TestSilentTaskLeavesNoFile(t *testing.T) {
	s := spoolIn(t, Limits{})
	c := s.Create(1)
	c.Finish(t0)
	if b, err := c.Lines(1, 10); err != nil || !b.Done || len(b.Lines) != 0 {
		t.Errorf("%+v %v", b, err)
	}
	if ids, err := s.Attempts(); err != nil || len(ids) != 0 {
		t.Errorf("spool holds %v %v", ids, err)
	}
	must(t, c.Remove())
}

func TestWhatTextBecomes(t *testing.T) {
	cases := []struct{ name, in, want string }{
		{"progress bar ends in its last state", "10%\r20%\r", "1out:20%|"},
		{"progress bar then a line", "10%\r20%\r100%\ndone\n", "1out:100%|2out:done|"},
		{"line ends of another system", "a\r\nb\r\n", "1out:a|2out:b|"},
		{"NUL and bytes that are no UTF-8", "a\x00b\xff\xfec\n", "1out:a␀b\uFFFDc|"},
		{"empty lines count", "\n\nx", "1out:|2out:|3out:x|"},
		{"only a carriage return", "\r\n", "1out:|"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			for cut := 0; cut <= len(tc.in); cut++ { // however the pipe happens to cut it
				c := spoolIn(t, Limits{}).Create(1)
				c.Write(Out, t0, []byte(tc.in[:cut]))
				c.Write(Out, t0, []byte(tc.in[cut:]))
				c.Finish(t0)
				if got := texts(readAll(t, c, 10)); got != tc.want {
					t.Fatalf("cut at %d: %s, want %s", cut, got, tc.want)
				}
			}
		})
	}
}

func TestLongLineComesInWholeCharacters(t *testing.T) {
	c := spoolIn(t, Limits{Head: 8 << 20}).Create(1)
	text := strings.Repeat("任务日志€😀", 5<<20/19)
	for p := []byte(text); len(p) > 0; {
		n := min(4096, len(p))
		c.Write(Out, t0, p[:n])
		p = p[n:]
	}
	c.Write(Out, t0, []byte("\nnext\n"))
	c.Finish(t0)
	var joined strings.Builder
	lines := readAll(t, c, 1000)
	for i, l := range lines[:len(lines)-1] {
		if l.N != 1 || l.Cont != (i > 0) || len(l.Text) > 16<<10 || !utf8.ValidString(l.Text) {
			t.Fatalf("piece %d: line %d cont %v, %d bytes", i, l.N, l.Cont, len(l.Text))
		}
		joined.WriteString(l.Text)
	}
	if joined.String() != text {
		t.Error("the pieces do not join to the line")
	}
	if last := lines[len(lines)-1]; last.N != 2 || last.Text != "next" {
		t.Errorf("the line behind it is %+v", last)
	}
}

func TestMiddleIsCountedAndNumbersStayTrue(t *testing.T) {
	s := spoolIn(t, Limits{Head: 10_000, Tail: 8_000})
	c := s.Create(5)
	const total = 20_000
	for i := 1; i <= total; i++ {
		c.Write(Out, t0, fmt.Appendf(nil, "line %d\n", i))
	}
	if running := readAll(t, c, 100); running[len(running)-1].N > 1_200 {
		t.Errorf("the moving tail was given out while the task ran: line %d", running[len(running)-1].N)
	}
	c.Finish(t0)
	lines := readAll(t, c, 100)
	st := checkMiddle(t, lines, total)
	if got := c.Stats(); got.DroppedLines != st.DroppedLines || got.DroppedBytes != st.DroppedBytes || got.Lines != total {
		t.Errorf("stats %+v, the note says %+v", got, st)
	}
	again, err := s.Reopen(5)
	must(t, err)
	if got := readAll(t, again, 77); texts(got) != texts(lines) {
		t.Error("after a restart the log reads differently")
	}
	if b, err := again.Lines(lines[50].Seq, 3); err != nil || texts(b.Lines) != texts(lines[50:53]) {
		t.Errorf("going back reads %s %v", texts(b.Lines), err)
	}
	must(t, again.Remove())
	if left, _ := os.ReadDir(s.dir); len(left) != 0 {
		t.Errorf("%d files are left after Remove", len(left))
	}
}

// checkMiddle holds each line's number against its text and the note against what is missing.
func checkMiddle(t *testing.T, lines []Line, total int64) Stats {
	t.Helper()
	var note Line
	next, kept := int64(1), int64(0)
	for _, l := range lines {
		if l.DroppedLines > 0 {
			note = l
			next += l.DroppedLines
			continue
		}
		if l.N != next || l.Text != fmt.Sprintf("line %d", l.N) {
			t.Fatalf("line %d where %d was due: %q", l.N, next, l.Text)
		}
		next++
		kept += int64(len(l.Text)) + 1
	}
	if next != total+1 || note.DroppedLines == 0 {
		t.Fatalf("lines up to %d of %d, note %+v", next-1, total, note)
	}
	var all int64
	for i := int64(1); i <= total; i++ {
		all += int64(len(fmt.Sprintf("line %d\n", i)))
	}
	if kept < 17_000 || kept+note.DroppedBytes != all {
		t.Errorf("kept %d bytes, dropped %d of %d", kept, note.DroppedBytes, all)
	}
	if want := fmt.Sprintf("… %s lines, %d KB not kept …", thousands(note.DroppedLines), note.DroppedBytes/1000); note.Text != want {
		t.Errorf("note says %q, want %q", note.Text, want)
	}
	return Stats{DroppedLines: note.DroppedLines, DroppedBytes: note.DroppedBytes}
}

func TestPeekShowsTheEndWhileItRuns(t *testing.T) {
	c := spoolIn(t, Limits{Head: 1_000, Tail: 4_000}).Create(5)
	for i := 1; i <= 5_000; i++ {
		c.Write(Out, t0, fmt.Appendf(nil, "line %d\n", i))
	}
	c.Write(Out, t0, []byte("12%\r13%"))
	lines, err := c.Peek(3)
	must(t, err)
	if got := texts(lines); got != "4999out:line 4999|5000out:line 5000|5001out:13%|" {
		t.Errorf("peek: %s", got)
	}
}

func TestPausedLineIsShownAndGoesOn(t *testing.T) {
	c := spoolIn(t, Limits{}).Create(5)
	c.Write(Out, t0, []byte("Password: \xe4\xbb"))
	c.pause(Out, t0)
	c.pause(Out, t0)
	if got := texts(readAll(t, c, 10)); got != "1out:Password: |" {
		t.Errorf("paused: %s", got)
	}
	c.Write(Out, t0, []byte("\xbb accepted\n50%\r60%"))
	c.pause(Out, t0)
	c.Finish(t0)
	if got := texts(readAll(t, c, 10)); got != "1out:Password: |1out+任 accepted|2out:60%|" {
		t.Errorf("at the end: %s", got)
	}
}

func TestFullDiskStopsTheLogNotTheTask(t *testing.T) {
	s := spoolIn(t, Limits{})
	c := s.Create(5)
	c.Write(Out, t0, []byte("kept\n"))
	must(t, c.head.file.Close()) // from here on every write fails
	c.Write(Out, t0, []byte("lost\nlost too\n"))
	c.Finish(t0)
	lines := readAll(t, c, 10)
	if len(lines) != 3 || lines[0].Text != "kept" || lines[1].DroppedLines != 2 || lines[1].DroppedBytes != 14 ||
		lines[2].Text != "output is missing above that the worker could not write: file already closed" {
		t.Errorf("log: %+v", lines)
	}
	if c.Err() == nil {
		t.Error("nobody is told")
	}
}

// TestAnyCutOfTheInputGivesTheSameLines feeds random text in random pieces; without limits in the way, the lines of each
// stream must be the text's lines, however it was cut, paused, read and read again.
func TestAnyCutOfTheInputGivesTheSameLines(t *testing.T) {
	dir := t.TempDir()
	id := int64(0)
	rapid.Check(t, func(rt *rapid.T) {
		id++
		s, err := OpenSpool(filepath.Join(dir, "s"), Limits{})
		if err != nil {
			rt.Fatal(err)
		}
		c := s.Create(id)
		var raw [streams][]byte
		for range rapid.IntRange(1, 30).Draw(rt, "writes") {
			st := Stream(rapid.IntRange(1, 2).Draw(rt, "stream"))
			p := []byte(rapid.StringOfN(rapid.RuneFrom([]rune("ab\n\n€😀")), 1, 12, -1).Draw(rt, "text"))
			cut := rapid.IntRange(0, len(p)).Draw(rt, "cut")
			raw[st] = append(raw[st], p...)
			c.Write(st, t0, p[:cut])
			if rapid.IntRange(0, 5).Draw(rt, "pause") == 0 {
				c.pause(st, t0)
			}
			c.Write(st, t0, p[cut:])
		}
		c.Finish(t0)
		lines := readAll(t, c, rapid.IntRange(1, 9).Draw(rt, "batch"))
		for st := Out; st <= Err; st++ {
			if got, want := rejoin(lines, st), string(raw[st]); got != want && got != want+"\n" {
				rt.Fatalf("%s: %q, want %q", st, got, want)
			}
		}
		again, err := s.Reopen(id)
		if len(lines) > 0 && (err != nil || texts(readAll(t, again, 50)) != texts(lines)) {
			rt.Fatalf("reopened differently: %v", err)
		}
	})
}

// rejoin puts the lines of one stream together again, each with its end.
func rejoin(lines []Line, s Stream) string {
	var b bytes.Buffer
	for _, l := range lines {
		if l.Stream != s {
			continue
		}
		if l.Cont && b.Len() > 0 {
			b.Truncate(b.Len() - 1)
		}
		b.WriteString(l.Text + "\n")
	}
	return b.String()
}

// TestTornSpoolKeepsWhatIsWhole cuts the head at every place, as a crash could, and expects a readable beginning.
func TestTornSpoolKeepsWhatIsWhole(t *testing.T) {
	s := spoolIn(t, Limits{})
	c := s.Create(9)
	for i := range 20 {
		c.Write(Out, t0, fmt.Appendf(nil, "line %d\n", i+1))
	}
	whole, err := os.ReadFile(s.headPath(9))
	must(t, err)
	for cut := range len(whole) {
		must(t, os.WriteFile(s.headPath(9), whole[:cut], 0o600))
		again, err := s.Reopen(9)
		must(t, err)
		for i, l := range readAll(t, again, 100) {
			if l.Text != fmt.Sprintf("line %d", i+1) {
				t.Fatalf("cut at %d: line %d is %q", cut, i+1, l.Text)
			}
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestNumbersStayTrueUnderAnyLimits writes lines that say their own number, in random pieces on two streams, under small
// random limits. Every line that is kept must carry its own number, and everything must be accounted for.
func TestNumbersStayTrueUnderAnyLimits(t *testing.T) {
	dir := t.TempDir()
	id := int64(0)
	rapid.Check(t, func(rt *rapid.T) {
		id++
		s, err := OpenSpool(filepath.Join(dir, fmt.Sprint(id)), Limits{
			Head: rapid.IntRange(1, 600).Draw(rt, "head"), Tail: rapid.IntRange(4, 600).Draw(rt, "tail"),
			Line: rapid.IntRange(64, 100).Draw(rt, "line")})
		if err != nil {
			rt.Fatal(err)
		}
		c := s.Create(id)
		begun, written := writeNumbered(rt, c)
		c.Finish(t0)
		lines := readAll(t, c, rapid.IntRange(1, 40).Draw(rt, "batch"))
		seen, last := int64(0), [streams]Line{}
		for _, l := range lines {
			last[l.Stream] = l
		}
		for _, l := range lines {
			text := l.Text
			if l == last[l.Stream] {
				text = strings.TrimRight(text, "\uFFFD") // the output itself may end within a character
			}
			if want := fmt.Sprintf("%d€", l.N); l.DroppedBytes == 0 && !l.Cont && !strings.HasPrefix(text, want) && !strings.HasPrefix(want, text) {
				rt.Fatalf("line %d reads %q", l.N, l.Text)
			}
			if strings.Contains(text, "\uFFFD") {
				rt.Fatalf("line %d lost half a character: %q", l.N, l.Text)
			}
			seen = max(seen, l.N)
		}
		st := c.Stats()
		if st.Lines != begun || st.Bytes != written || seen > begun {
			rt.Fatalf("stats %+v, seen up to %d; begun %d, written %d", st, seen, begun, written)
		}
		again, err := s.Reopen(id)
		if written > 0 && (err != nil || texts(readAll(t, again, 50)) != texts(lines) || again.Stats() != st) {
			rt.Fatalf("reopened differently: %v, %+v, want %+v", err, again.Stats(), st)
		}
	})
}

// writeNumbered writes random pieces of lines and returns how many lines it began and how many bytes it wrote.
func writeNumbered(rt *rapid.T, c *Capture) (begun, written int64) {
	var rest [streams]string // of the line that a stream is in the middle of
	for range rapid.IntRange(0, 120).Draw(rt, "writes") {
		s := Stream(rapid.IntRange(1, 2).Draw(rt, "stream"))
		if rest[s] == "" {
			begun++
			rest[s] = fmt.Sprintf("%d€%s\n", begun, strings.Repeat("日x", rapid.IntRange(0, 40).Draw(rt, "length")))
		}
		n := len(rest[s])
		if rapid.Bool().Draw(rt, "partly") {
			n = rapid.IntRange(1, n).Draw(rt, "n")
		}
		c.Write(s, t0, []byte(rest[s][:n]))
		written += int64(n)
		rest[s] = rest[s][n:]
	}
	return begun, written
}
