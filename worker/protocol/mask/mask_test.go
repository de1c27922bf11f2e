package mask

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"html"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// naive hides every byte of a text that is part of any writing, and shows a stretch of hidden ones as stars.
func naive(ws []string, text string) string {
	hide := make([]bool, len(text))
	for _, w := range ws {
		for i := 0; i+len(w) <= len(text); i++ {
			if text[i:i+len(w)] == w {
				for j := range len(w) {
					hide[i+j] = true
				}
			}
		}
	}
	var b strings.Builder
	for i := range len(text) {
		switch {
		case !hide[i]:
			b.WriteByte(text[i])
		case i == 0 || !hide[i-1]:
			b.WriteString(Stars)
		}
	}
	return b.String()
}

// However a text is cut, what comes out is what a search of the whole text gives.
func TestPiecesAreMaskedLikeTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.StringOfN(rapid.RuneFrom([]rune("abc")), 4, 9, -1)
		secrets := rapid.SliceOfN(letters, 1, 4).Draw(t, "secrets")
		text := rapid.StringOfN(rapid.RuneFrom([]rune("abc x")), 0, 60, -1).Draw(t, "text")
		if rapid.Bool().Draw(t, "with") {
			text += secrets[0] + secrets[len(secrets)-1][1:] + "y"
		}
		m := New(secrets)
		var ws []string
		for _, s := range secrets {
			ws = append(ws, writings(s)...)
		}
		want := naive(ws, text)
		if got := m.String(text); got != want {
			t.Fatalf("%q with %q is %q, want %q", text, secrets, got, want)
		}
		s, out, rest := m.Stream(), []byte(nil), text
		for rest != "" {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			out = s.Write(out, []byte(rest[:n]))
			rest = rest[n:]
		}
		if got := string(s.Close(out)); got != want {
			t.Fatalf("in pieces %q is %q, want %q", text, got, want)
		}
		if m.In(text) != (want != text) {
			t.Fatalf("In says %v of %q", m.In(text), text)
		}
	})
}

func TestNothingOfAnEncodedSecretIsSeen(t *testing.T) {
	pyQuote := func(s string) string { // as Python's urllib quotes
		return strings.NewReplacer("+", "%20", "%2F", "/", "~", "~").Replace(url.QueryEscape(s))
	}
	for _, secret := range []string{"hunter2", "p@ss w/ord+&=%", `q"uo\te's<&>`, "密码🚀四个", "1234", "line one is long\nline two is long\n", strings.Repeat("Zz9+/", 800)} {
		m := New([]string{secret})
		bare, _ := json.Marshal(secret)
		var loose bytes.Buffer
		enc := json.NewEncoder(&loose)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(secret)
		for name, text := range map[string]string{
			"plain": "a " + secret + " b", "json": "x" + string(bare) + "y", "loose json": loose.String(), "query": "u?a=" + url.QueryEscape(secret) + "&b=1",
			"path": "/" + url.PathEscape(secret) + "/", "quoted": pyQuote(secret), "html": html.EscapeString(secret),
			"set -x": "+ curl '" + strings.ReplaceAll(secret, "'", `'\''`) + "'",
			"base64": base64.StdEncoding.EncodeToString([]byte(secret)), "basic": base64.StdEncoding.EncodeToString([]byte("user:" + secret)),
			"basic 2": base64.StdEncoding.EncodeToString([]byte("user1:" + secret + "tail")), "basic 3": base64.RawURLEncoding.EncodeToString([]byte("users1:" + secret + "t")),
		} {
			got := m.String(text)
			if !strings.Contains(got, Stars) {
				t.Errorf("%q as %s stays: %q", secret, name, clip(got))
			}
			if name == "plain" && got != "a *** b" && !strings.Contains(secret, "\n") {
				t.Errorf("%q: %q", secret, clip(got))
			}
		}
		if got := m.String("nothing of it in here"); got != "nothing of it in here" {
			t.Errorf("%q: %q", secret, got)
		}
	}
}

func clip(s string) string { return s[:min(len(s), 200)] }

func TestALineOfASecretOfSeveralLinesCounts(t *testing.T) {
	m := New([]string{"-----BEGIN KEY-----\nMIIEvQIBADANBgkq\n}\n-----END KEY-----\n"})
	if got := m.String("got MIIEvQIBADANBgkq and }"); got != "got *** and }" {
		t.Error(got)
	}
}

func TestWhatIsTooShortIsNoSecret(t *testing.T) {
	if m := New([]string{"abc", "", "七个字"}); m != nil {
		t.Error("three characters were taken")
	}
	var none *Masker
	if none.String("abc") != "abc" || none.In("abc") || string(none.JSON([]byte("1"))) != "1" {
		t.Error("a nil masker masks")
	}
	if got := string(none.Stream().Write(nil, []byte("abc"))); got != "abc" {
		t.Error(got)
	}
}

func TestResultsStayJSON(t *testing.T) {
	m := New([]string{`a":"b,`, "12345", "hunter2"})
	for in, want := range map[string]string{
		`{"a":"b", "n": 1e400 }`:                          `{"a":"b", "n": 1e400 }`,
		`{"x":"say \u0068unter2","n":9007199254740993}`:   `{"n":9007199254740993,"x":"say ***"}`,
		`{"n":1234567,"hunter2":[true,null,"<hunter2>"]}`: `{"***":[true,null,"<***>"],"n":"***"}`,
		`{"x":"a\":\"b,c"}`:                               `{"x":"***c"}`,
		`not json hunter2`:                                `not json hunter2`,
		`{"x":"aHVudGVyMg=="}`:                            `{"x":"***"}`,
	} {
		got := m.JSON(json.RawMessage(in))
		if string(got) != want {
			t.Errorf("%s is %s, want %s", in, got, want)
		}
	}
}

// What is held back is never more than the longest writing, whatever comes.
func TestMemoryDoesNotGrowWithTheText(t *testing.T) {
	m := New([]string{"aaaaaaaaab"})
	s := m.Stream()
	out := make([]byte, 0, 1<<20)
	piece := bytes.Repeat([]byte("a"), 1<<16)
	for range 16 {
		out = s.Write(out[:0], piece)
		if len(s.held) > 64 || cap(s.held) > 1<<20 {
			t.Fatalf("%d bytes held, room for %d", len(s.held), cap(s.held))
		}
	}
}

func BenchmarkPlainOutput(b *testing.B) {
	m := New([]string{"s3cr3t-Token-0123456789", "another/Secret+Value=="})
	line := []byte(strings.Repeat("2026-02-03 02:00:00 INFO order_stat: 12345 rows read from shard 7 of 32\n", 400))
	b.SetBytes(int64(len(line)))
	s, out := m.Stream(), []byte(nil)
	for b.Loop() {
		out = s.Write(out[:0], line)
	}
}
