package docs

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/worker/protocol"
)

// block is the text of the first fenced block of a language.
func block(t *testing.T, page, language string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindSubmatch(text)
	if found == nil {
		t.Fatalf("%s has no block of %s", page, language)
	}
	return string(found[1])
}

// TestTheSignatureExampleIsTrue runs the lines that the page shows, and has the code sign the same request.
func TestTheSignatureExampleIsTrue(t *testing.T) {
	lines, printed := block(t, "protocol.md", "sh"), block(t, "protocol.md", "text")
	body := regexp.MustCompile(`(?m)^body='(.*)'$`).FindStringSubmatch(lines)
	secret := regexp.MustCompile(`(?m)^secret='(.*)'$`).FindStringSubmatch(lines)
	if body == nil || secret == nil {
		t.Fatal("the example has no body or no secret")
	}
	sign := protocol.Sign([]byte(secret[1]), "POST", "/run?zone=a", time.UnixMilli(1704045600000), "3J5kTq9vXw2LmZr8", []byte(body[1]))
	if !strings.Contains(printed, "\nsignature: "+sign+"\n") {
		t.Errorf("the code signs %s, the page says\n%s", sign, printed)
	}
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("openssl is not there; its lines are not run")
	}
	cmd := exec.Command("sh", "-c", lines)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || string(out) != printed {
		t.Errorf("%v %s\nprinted:\n%s\nthe page says:\n%s", err, stderr.String(), out, printed)
	}
}
