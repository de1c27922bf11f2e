package seal

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/axsched/ax/modules/domain"
)

func keeper(t *testing.T, keys ...[]byte) *Keeper {
	t.Helper()
	k, err := Open(bytes.Join(keys, []byte(",")))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestWhatIsSealedOpensAgainAndOnlyInItsContext(t *testing.T) {
	k := keeper(t, MakeKey())
	rapid.Check(t, func(t *rapid.T) {
		plain := rapid.SliceOf(rapid.Byte()).Draw(t, "plain")
		context, other := rapid.String().Draw(t, "context"), rapid.String().Draw(t, "other")
		sealed, err := k.Seal(plain, context)
		if err != nil {
			t.Fatal(err)
		}
		if len(plain) > 3 && (strings.Contains(sealed, string(plain)) || strings.Contains(sealed, base64.RawURLEncoding.EncodeToString(plain))) {
			t.Fatalf("the sealed text shows what is in it: %q", sealed)
		}
		back, err := k.Unseal(sealed, context)
		if err != nil || !bytes.Equal(back, plain) {
			t.Fatalf("got %q, %v", back, err)
		}
		if _, err := k.Unseal(sealed, other); (err == nil) != (other == context) {
			t.Fatalf("opened in context %q: %v", other, err)
		}
	})
}

func TestAnyChangeOfASealedTextIsNoticed(t *testing.T) {
	k := keeper(t, MakeKey())
	sealed, err := k.Seal([]byte("hunter2"), "row 1")
	if err != nil {
		t.Fatal(err)
	}
	for i := range len(sealed) {
		for _, b := range []byte("aB9.-") {
			if changed := sealed[:i] + string(b) + sealed[i+1:]; changed != sealed {
				if plain, err := k.Unseal(changed, "row 1"); err == nil {
					t.Fatalf("byte %d as %q opens as %q", i, b, plain)
				}
			}
		}
		if _, err := k.Unseal(sealed[:i], "row 1"); err == nil {
			t.Fatalf("the first %d bytes open", i)
		}
	}
}

func TestTwoSealsOfTheSameDiffer(t *testing.T) {
	k := keeper(t, MakeKey())
	a, _ := k.Seal([]byte("same"), "c")
	b, _ := k.Seal([]byte("same"), "c")
	if a == b {
		t.Error("the same text was sealed to the same text: whoever reads rows sees who shares a password")
	}
}

func TestAnOldKeyStillOpensAndTheNewOneSeals(t *testing.T) {
	old, fresh := MakeKey(), MakeKey()
	was, err := keeper(t, old).Seal([]byte("v"), "c")
	if err != nil {
		t.Fatal(err)
	}
	both := keeper(t, fresh, old)
	if plain, err := both.Unseal(was, "c"); err != nil || string(plain) != "v" {
		t.Errorf("with the old key behind the new: %q, %v", plain, err)
	}
	is, err := both.Seal([]byte("v"), "c")
	if err != nil || !both.SealedNow(is) || both.SealedNow(was) {
		t.Errorf("sealed now: %v, before: %v, %v", both.SealedNow(is), both.SealedNow(was), err)
	}
	_, err = keeper(t, fresh).Unseal(was, "c")
	if id := keeper(t, old).KeyID(); !domain.Is(err, domain.Conflict) || !strings.Contains(err.Error(), id) {
		t.Errorf("without the old key the error does not name it (%s): %v", id, err)
	}
}

func TestKeysAreReadAsTheyAreMade(t *testing.T) {
	raw, err := hex.DecodeString(strings.TrimSpace(string(MakeKey())))
	if err != nil || len(raw) != KeyBytes {
		t.Fatalf("%d bytes, %v", len(raw), err)
	}
	want := keeper(t, []byte(hex.EncodeToString(raw))).KeyID()
	for _, text := range []string{
		strings.ToUpper(hex.EncodeToString(raw)) + "\r\n", "  " + base64.StdEncoding.EncodeToString(raw) + "\n",
		base64.RawStdEncoding.EncodeToString(raw), base64.URLEncoding.EncodeToString(raw), base64.RawURLEncoding.EncodeToString(raw),
	} {
		if got := keeper(t, []byte(text)).KeyID(); got != want {
			t.Errorf("%q is the key %s, want %s", text, got, want)
		}
	}
	for _, text := range []string{"hunter2", strings.Repeat("00", 32), strings.Repeat("ab", 31), hex.EncodeToString(raw) + " short"} {
		if _, err := Open([]byte(text)); err == nil || strings.Contains(err.Error(), text) || !strings.Contains(err.Error(), "openssl rand -hex 32") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestWithoutAKeyNothingIsSealedAndTheSentenceSaysHowToMend(t *testing.T) {
	for name, k := range map[string]*Keeper{"nil": nil, "zero": {}, "empty text": keeper(t)} {
		_, err := k.Seal([]byte("v"), "c")
		if !domain.Is(err, domain.Conflict) || !strings.Contains(err.Error(), "AX_SECRETS_KEY") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := k.Unseal("ax1.00000000.AAAA", "c"); !domain.Is(err, domain.Conflict) {
			t.Errorf("%s: %v", name, err)
		}
		if k.KeyID() != "" || k.SealedNow("ax1..x") {
			t.Errorf("%s has a key", name)
		}
	}
}
