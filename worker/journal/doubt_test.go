package journal

import (
	"os"
	"path/filepath"
	"testing"
)

// Only the lock that the life before held proves that it is over.
func TestACopyOfADirectoryIsInDoubt(t *testing.T) {
	dir, other := filepath.Join(t.TempDir(), "own"), filepath.Join(t.TempDir(), "copy")
	doubt := func(dir string, owned ...bool) bool {
		t.Helper()
		j, st, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if len(owned) > 0 {
			must(t, j.Own())
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
	for life := range 3 { // none of which learned more
		if !doubt(other) {
			t.Errorf("life %d of a copy takes the life of the original for over", life+1)
		}
	}
	if !doubt(other, true) {
		t.Error("a life of the copy was in no doubt before it knew")
	}
	if doubt(other) {
		t.Error("the copy's next life is in doubt: the one before had it for certain, and held the same lock")
	}
	must(t, os.Remove(filepath.Join(dir, "lock")))
	must(t, os.WriteFile(filepath.Join(dir, "identity"), []byte(`{"uid":"0123456789abcdef0123456789abcdef","boot":3}`), 0o600))
	if !doubt(dir) {
		t.Error("a life whose lock is not known counts as over")
	}
}
