// Package seal keeps secrets unreadable at rest: it turns a text into one that only the center's key opens, and back.
//
// It owns the form of a sealed text and the reading of keys. It stores nothing, makes no key by itself unless asked for
// (MakeKey), and never puts a plain text into an error. A sealed text is bound to its context, such as the row that it
// stands in: moved to another row it does not open. Whoever keeps secrets drives it, beginning with one Keeper that the
// composition root makes.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/axsched/ax/modules/domain"
)

const (
	// KeyBytes is the length of a key: AES-256.
	KeyBytes = 32
	// version begins every sealed text and says how it is made.
	version = "ax1"
	idBytes = 4
)

// Keeper seals with one key and opens what was sealed with that or an older one. The zero value has no key: it refuses
// to seal, with a sentence that says how to mend it. Safe for concurrent use.
type Keeper struct {
	keys []sealer // the first seals, all open
}

// sealer is one key, ready for use.
type sealer struct {
	id   string
	aead cipher.AEAD
}

// Open reads keys from a text: one or several, parted by white space or commas, each 64 hexadecimal digits or the base64
// of 32 bytes. The first seals; the others only open what they sealed once, so that a key can be replaced. A text
// without any gives a Keeper that has none. The error never repeats the text.
func Open(key []byte) (*Keeper, error) {
	k := &Keeper{}
	words := strings.FieldsFunc(string(key), func(r rune) bool { return strings.ContainsRune(" \t\r\n,", r) })
	for i, word := range words {
		one, err := parse(word)
		if err != nil {
			return nil, fmt.Errorf("key %d of %d %w", i+1, len(words), err)
		}
		block, err := aes.NewCipher(one)
		if err != nil {
			return nil, err
		}
		aead, err := cipher.NewGCM(block)
		if err != nil {
			return nil, err
		}
		k.keys = append(k.keys, sealer{idOf(one), aead})
	}
	return k, nil
}

// MakeKey is a new key from the machine's randomness, as text that Open reads, with a line end.
func MakeKey() []byte {
	key := make([]byte, KeyBytes)
	_, _ = rand.Read(key) // it never fails: without randomness the process ends
	return []byte(hex.EncodeToString(key) + "\n")
}

func parse(word string) ([]byte, error) {
	for _, decode := range []func(string) ([]byte, error){
		hex.DecodeString, base64.StdEncoding.DecodeString, base64.RawStdEncoding.DecodeString,
		base64.URLEncoding.DecodeString, base64.RawURLEncoding.DecodeString,
	} {
		if key, err := decode(word); err == nil && len(key) == KeyBytes {
			if strings.Count(string(key), string(key[:1])) == KeyBytes {
				return nil, fmt.Errorf("is one byte repeated, which everybody guesses; make one with: openssl rand -hex 32")
			}
			return key, nil
		}
	}
	return nil, fmt.Errorf("is neither 64 hexadecimal digits nor the base64 of 32 bytes; make one with: openssl rand -hex 32")
}

// idOf names a key without telling it.
func idOf(key []byte) string {
	sum := sha256.Sum256(append([]byte("ax key id\n"), key...))
	return hex.EncodeToString(sum[:idBytes])
}

// Ready reports whether there is a key to seal with; the error, of kind Conflict, says how to give one.
func (k *Keeper) Ready() error {
	if k == nil || len(k.keys) == 0 {
		return domain.Fail(domain.Conflict, "secrets cannot be kept: this center has no key to seal them with").
			WithHint("give every center the same AX_SECRETS_KEY or AX_SECRETS_KEY_FILE, made with: openssl rand -hex 32").Coded("seal.no_key")
	}
	return nil
}

// KeyID names the key that seals, "" if there is none.
func (k *Keeper) KeyID() string {
	if k == nil || len(k.keys) == 0 {
		return ""
	}
	return k.keys[0].id
}

// Seal turns plain into a text of ASCII letters, digits, dots, dashes and underscores, about 4/3 as long plus 60 bytes.
// context must be given again to open it. Two calls with the same arguments give two texts.
func (k *Keeper) Seal(plain []byte, context string) (string, error) {
	if err := k.Ready(); err != nil {
		return "", err
	}
	by := k.keys[0]
	nonce := make([]byte, by.aead.NonceSize())
	_, _ = rand.Read(nonce) // it never fails
	body := by.aead.Seal(nonce, nonce, plain, bound(by.id, context))
	return strings.Join([]string{version, by.id, encoding().EncodeToString(body)}, "."), nil
}

// Unseal opens a sealed text that was made with the same context. The error, of kind Conflict, says whether the key is
// missing or the text damaged or moved.
func (k *Keeper) Unseal(sealed, context string) ([]byte, error) {
	parts := strings.Split(sealed, ".")
	if len(parts) != 3 || parts[0] != version {
		return nil, damaged()
	}
	if k == nil || len(k.keys) == 0 {
		return nil, k.Ready()
	}
	for _, by := range k.keys {
		if by.id != parts[1] {
			continue
		}
		body, err := encoding().DecodeString(parts[2])
		if err != nil || len(body) < by.aead.NonceSize() {
			return nil, damaged()
		}
		plain, err := by.aead.Open(nil, body[:by.aead.NonceSize()], body[by.aead.NonceSize():], bound(by.id, context))
		if err != nil {
			return nil, damaged()
		}
		return plain, nil
	}
	return nil, domain.Fail(domain.Conflict, "it was sealed with the key %s, which this center does not have", parts[1]).
		WithHint("put that key behind the present one in AX_SECRETS_KEY, parted by a comma, or set the secret anew").Coded("seal.other_key", "key", parts[1])
}

// SealedNow reports whether the text was sealed with the key that seals now.
func (k *Keeper) SealedNow(sealed string) bool {
	return k.KeyID() != "" && strings.HasPrefix(sealed, version+"."+k.KeyID()+".")
}

func damaged() error {
	return domain.Fail(domain.Conflict, "the sealed text is damaged, or it belongs to something else").
		WithHint("set the secret anew").Coded("seal.damaged")
}

// encoding takes one text only for the same bytes.
func encoding() *base64.Encoding { return base64.RawURLEncoding.Strict() }

// bound is what the seal vouches for beside the plain text.
func bound(id, context string) []byte { return []byte(version + "\n" + id + "\n" + context) }
