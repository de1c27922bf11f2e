package center

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/axsched/ax/config"
	"github.com/axsched/ax/modules/kit/seal"
)

func TestTheFirstStartOfModeAllMakesAKeyThatStays(t *testing.T) {
	c := config.Default()
	c.Data = t.TempDir()
	first, err := openSeal(c)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := first.Seal([]byte("hunter2"), "x")
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(c.Data, "secrets.key"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	second, err := openSeal(c)
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := second.Unseal(sealed, "x"); err != nil || string(plain) != "hunter2" {
		t.Errorf("after a restart: %q, %v", plain, err)
	}
	if left, _ := filepath.Glob(filepath.Join(c.Data, "*")); len(left) != 1 {
		t.Errorf("the folder holds %v", left)
	}
}

func TestKeysComeFromWhereTheSetUpSays(t *testing.T) {
	key := strings.TrimSpace(string(seal.MakeKey()))
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := config.Default()
	c.Mode, c.Data = config.ModeCenter, t.TempDir()
	none, err := openSeal(c)
	if err != nil || none.Ready() == nil {
		t.Errorf("a center without a key: %v, ready %v", err, none.Ready())
	}
	c.Secrets.KeyFile = file
	byFile, err := openSeal(c)
	if err != nil {
		t.Fatal(err)
	}
	c.Secrets = config.Secrets{Key: config.Secret(key)}
	byKey, err := openSeal(c)
	if err != nil || byKey.KeyID() != byFile.KeyID() || byKey.KeyID() == "" {
		t.Errorf("%q and %q, %v", byKey.KeyID(), byFile.KeyID(), err)
	}
	for text, want := range map[string]string{"": "is empty", "hunter2": "64 hexadecimal digits"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c.Secrets = config.Secrets{KeyFile: file}
		if _, err := openSeal(c); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "secrets.key_file") || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("a file with %q: %v", text, err)
		}
	}
	c.Secrets.KeyFile = filepath.Join(t.TempDir(), "absent")
	if _, err := openSeal(c); err == nil || !strings.Contains(err.Error(), "absent") {
		t.Errorf("an absent file: %v", err)
	}
}
