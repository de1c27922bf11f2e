package journal

import "testing"

// A fresh directory under a name that another one had begins above its boots; one that has its own name goes on counting.
func TestBootsPassOverThoseOfAnotherDirectory(t *testing.T) {
	dir := t.TempDir()
	open := func(uid string, boot, want int64) *State {
		t.Helper()
		j, st, err := OpenAfter(dir, uid, boot)
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		if st.Boot != want {
			t.Errorf("after boot %d of %q it is boot %d, want %d", boot, uid, st.Boot, want)
		}
		return st
	}
	own := open("", 0, 1).UID
	open("other", 7, 8)
	open("other", 7, 9)
	open(own, 20, 10) // a copy of this directory is at work: nothing is to be won over it
	open("", 0, 11)
}
