package journal

import (
	"os"
	"path/filepath"
	"testing"
)

// Only the lock that the life before held proves that it is over.
func TestACopyOfADirectoryIsInDoubt(t *testing.T) {
	dir, other := filepath.Join(t.TempDir(), "own"), filepath.Join(t.TempDir(), "copy")
	doubt := func(dir string) bool {
		t.Helper()
		j, st, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		must(t, j.Close())
		return st.Doubt
	}
	for life := range 3 {
		if doubt(dir) {
			t.Errorf("life %d of one directory is in doubt", life+1)
		}
	}
	must(t, os.CopyFS(other, os.DirFS(dir)))
	if !doubt(other) {
		t.Error("a copy takes the life of the original for over")
	}
	if doubt(other) {
		t.Error("the copy's second life is in doubt: its first held the same lock")
	}
	must(t, os.Remove(filepath.Join(dir, "lock")))
	must(t, os.WriteFile(filepath.Join(dir, "identity"), []byte(`{"uid":"0123456789abcdef0123456789abcdef","boot":3}`), 0o600))
	if !doubt(dir) {
		t.Error("a life whose lock is not known counts as over")
	}
}
