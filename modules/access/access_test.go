package access

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestTheThrottleNeverLetsMoreThroughThanItsWindowHolds plays tries at random
// moments and counts those let through in every window.
func TestTheThrottleNeverLetsMoreThroughThanItsWindowHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		th, now := newThrottle(), time.UnixMilli(0)
		var through []time.Time
		for range rapid.IntRange(1, 80).Draw(t, "tries") {
			now = now.Add(time.Duration(rapid.IntRange(0, 120).Draw(t, "pause")) * time.Second)
			wait := th.try("ann", "192.0.2.1", now)
			if wait > 0 {
				if th.try("ann", "192.0.2.1", now.Add(wait-1)) == 0 {
					t.Fatalf("let through before the %v it asked for", wait)
				}
				now = now.Add(wait)
				if again := th.try("ann", "192.0.2.1", now); again != 0 {
					t.Fatalf("after waiting %v as told, told to wait %v", wait, again)
				}
			}
			through = append(through, now)
		}
		for i := nameTries; i < len(through); i++ {
			if through[i].Sub(through[i-nameTries]) < throttleWindow {
				t.Fatalf("%d tries within %v", nameTries+1, through[i].Sub(through[i-nameTries]))
			}
		}
	})
}

func TestTheThrottleForgetsRatherThanGrows(t *testing.T) {
	th, now := newThrottle(), time.UnixMilli(0)
	for i := range 3 * maxThrottled {
		th.try(strings.Repeat("x", i%50)+time.Duration(i).String(), time.Duration(i).String(), now)
	}
	if len(th.tries) > maxThrottled+2 {
		t.Errorf("%d keys kept", len(th.tries))
	}
}

func TestPasswordHashes(t *testing.T) {
	a := New(Options{Now: time.Now})
	one, err := a.hash(t.Context(), "correct horse")
	if err != nil {
		t.Fatal(err)
	}
	two, err := a.hash(t.Context(), "correct horse")
	if err != nil || one == two || !strings.HasPrefix(one, "$argon2id$v=19$m=19456,t=2,p=1$") || len(one) > 200 {
		t.Errorf("hashes %q and %q, %v", one, two, err)
	}
	for _, c := range []struct {
		password, hash string
		want           bool
	}{
		{"correct horse", one, true}, {"correct horse", two, true}, {"Correct horse", one, false}, {"", one, false}, {"", "", false},
		{"correct horse", one[:len(one)-1], false}, {"correct horse", strings.Replace(one, "argon2id", "argon2i", 1), false},
		{"correct horse", strings.Replace(one, "t=2", "t=0", 1), false}, {"correct horse", "$argon2id$v=19$m=1,t=1,p=1$$", false},
	} {
		if got, err := a.matches(t.Context(), c.password, c.hash); err != nil || got != c.want {
			t.Errorf("%q against %q: %v, %v", c.password, c.hash, got, err)
		}
	}
}

func TestSecretsAreMaskedAtAnyDepth(t *testing.T) {
	for in, want := range map[string]string{
		"command: x\n  db_password: hunter2\nname: y\n": "command: x\n  db_password: ***\nname: y\n",
		"API_KEY=hunter2":              "API_KEY=***",
		`  "clientSecret": "hunter2",`: `  "clientSecret": ***`,
		"tokens are described here":    "tokens are described here",
	} {
		if got, err := shownText(in); err != nil || got != want {
			t.Errorf("%q became %q, %v", in, got, err)
		}
	}
	got, err := shownText(map[string]any{"list": []any{map[string]any{"env": map[string]string{"MY_TOKEN": "hunter2", "N": "1"}}}, "secrets": map[string]int{"count": 2}})
	if err != nil || strings.Contains(got, "hunter2") || !strings.Contains(got, `"N": "1"`) || !strings.Contains(got, `"count": 2`) {
		t.Errorf("%s, %v", got, err)
	}
	if got, err := shownText(strings.Repeat("é", maxShown)); err != nil || len(got) > maxShown+3 {
		t.Errorf("%d bytes kept, %v", len(got), err)
	}
}
