package mask

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// lineLeast is how long a line of a secret of several lines must be to count by itself.
const lineLeast = 8

// writings are the ways in which a secret may stand in what a task says: as it is, each of its longer lines, as the
// inside of a JSON, XML or shell text, percent-encoded, as hexadecimal digits, and in base64, also as a part of something
// longer. Base64 that is broken into lines is none of them.
func writings(secret string) []string {
	if utf8.RuneCountInString(secret) < Least {
		return nil
	}
	all := plain(secret)
	if trimmed := strings.TrimRight(secret, "\r\n"); trimmed != secret {
		all = append(all, plain(trimmed)...)
	}
	if lines := strings.FieldsFunc(secret, func(r rune) bool { return r == '\n' || r == '\r' }); len(lines) > 1 {
		for _, l := range lines {
			if l = strings.TrimSpace(l); len(l) >= lineLeast {
				all = append(all, l)
			}
		}
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(w string) bool { return len(w) < Least })
}

func plain(s string) []string {
	all := []string{s, hex.EncodeToString([]byte(s)), strings.ToUpper(hex.EncodeToString([]byte(s))),
		strings.ReplaceAll(s, "'", `'\''`), strings.ReplaceAll(s, "'", `'"'"'`),
		strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;").Replace(s),
		strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;").Replace(s),
		strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)}
	return append(append(append(all, inJSON(s)...), inURL(s)...), inBase64(s)...)
}

// inJSON is the inside of a string as usual writers make it: plainly, safe for HTML, in ASCII, with slashes escaped.
func inJSON(s string) []string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string can always be written
	bare := strings.TrimSuffix(b.String(), "\n")
	bare = bare[1 : len(bare)-1]
	html := strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`).Replace(bare)
	all := []string{bare, html, strings.ReplaceAll(bare, "/", `\/`), ascii(bare), strings.ReplaceAll(ascii(bare), "/", `\/`)}
	return append(all, strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(bare)) // a text in a text
}

// ascii writes what is not ASCII as \uXXXX.
func ascii(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r < utf8.RuneSelf {
			b.WriteRune(r)
			continue
		}
		for _, u := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, u)
		}
	}
	return b.String()
}

// inURL is the percent-encoding of usual writers, which differ in what they leave as it is.
func inURL(s string) []string {
	const unreserved = "-._~"
	var all []string
	for _, keep := range []string{"", "/", "!'()*", "$&+,/:;=@", "$&+:=@"} {
		w := percent(s, unreserved+keep)
		all = append(all, w, lowerHex(w), strings.ReplaceAll(w, "%20", "+"))
	}
	return all
}

func percent(s, keep string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte(keep, c) >= 0 {
			b.WriteByte(c)
			continue
		}
		fmt.Fprintf(&b, "%%%02X", c)
	}
	return b.String()
}

func lowerHex(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], strings.ToLower(string(b[i+1:i+3])))
			i += 2
		}
	}
	return string(b)
}

// inBase64 is what of the base64 of any text with the secret in it depends on the secret alone, for the three places at
// which it may begin, and its own base64 to the end.
func inBase64(s string) []string {
	var all []string
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		all = append(all, enc.EncodeToString([]byte(s)), strings.TrimRight(enc.EncodeToString([]byte(s)), "="))
		for before := range 3 {
			text := enc.EncodeToString(append(make([]byte, before), s...))
			from := (8*before + 5) / 6
			to := 8 * (before + len(s)) / 6
			all = append(all, text[from:to])
		}
	}
	return all
}
