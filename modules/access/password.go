package access

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/argon2"

	"github.com/axsched/ax/modules/domain"
)

// cost is what one hash takes. Stored hashes name theirs, so that it may rise.
type cost struct {
	memory  uint32 // KiB
	time    uint32
	threads uint8
}

var currentCost = cost{memory: 19 * 1024, time: 2, threads: 1}

const keyBytes = 32

// hash encodes a password as $argon2id$v=19$m=…,t=…,p=…$salt$key.
func (a *Access) hash(ctx context.Context, password string) (string, error) {
	release, err := a.takeHashing(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	salt := make([]byte, 16)
	_, _ = rand.Read(salt)
	return encodeHash(currentCost, salt, derive(password, currentCost, salt)), nil
}

func (a *Access) takeHashing(ctx context.Context) (release func(), err error) {
	select {
	case a.hashing <- struct{}{}:
		return func() { <-a.hashing }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func derive(password string, c cost, salt []byte) []byte {
	return argon2.IDKey([]byte(password), salt, c.time, c.memory, c.threads, keyBytes)
}

func encodeHash(c cost, salt, key []byte) string {
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, c.memory, c.time, c.threads, b64.EncodeToString(salt), b64.EncodeToString(key))
}

// matches compares in constant time. Where there is no hash it takes as long as
// where there is one, so that nobody learns which names exist.
func (a *Access) matches(ctx context.Context, password, encoded string) (bool, error) {
	release, err := a.takeHashing(ctx)
	if err != nil {
		return false, err
	}
	defer release()
	c, salt, key, ok := decodeHash(encoded)
	if !ok {
		c, salt, key = currentCost, make([]byte, 16), make([]byte, keyBytes)
	}
	same := subtle.ConstantTimeCompare(derive(password, c, salt), key) == 1
	return same && ok, nil
}

func decodeHash(encoded string) (c cost, salt, key []byte, ok bool) {
	var version int
	parts := strings.Split(encoded, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" {
		return c, nil, nil, false
	}
	if _, err := fmt.Sscanf(parts[2], "v=%d", &version); err != nil || version != argon2.Version {
		return c, nil, nil, false
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &c.memory, &c.time, &c.threads); err != nil {
		return c, nil, nil, false
	}
	salt, err1 := base64.RawStdEncoding.DecodeString(parts[4])
	key, err2 := base64.RawStdEncoding.DecodeString(parts[5])
	return c, salt, key, err1 == nil && err2 == nil && len(key) == keyBytes && c.time > 0 && c.threads > 0
}

// Login checks a name and password that came from the address remote. Too many
// failures for the name or the address are Denied with the moment from which
// another try counts; a wrong pair is Unauthentic and does not say which is wrong.
func (a *Access) Login(ctx context.Context, name, password, remote string) (Account, error) {
	now := a.now()
	if wait := a.throttle.try(name, remote, now); wait > 0 {
		return Account{}, throttled(wait)
	}
	acc, err := a.store.AccountByName(ctx, name)
	if err != nil && !domain.Is(err, domain.NotFound) {
		return Account{}, err
	}
	good, err := a.matches(ctx, password, acc.Password)
	if err != nil {
		return Account{}, err
	}
	ctx = domain.WithPrincipal(ctx, domain.Principal{ID: acc.ID, Name: name, Kind: domain.PrincipalUser})
	if !good || acc.Disabled {
		if err := a.Record(ctx, Entry{Action: "login", Object: "account/" + name}); err != nil {
			return Account{}, err
		}
		return Account{}, domain.Fail(domain.Unauthentic, "name and password do not fit").Coded("access.wrong_pair")
	}
	a.throttle.clear(name, remote)
	return acc, a.Record(ctx, Entry{Action: "login", Object: "account/" + name, Allowed: true})
}

// ChangePassword changes the caller's own password and ends all sessions of the
// account. old is asked for unless the account has no password yet.
func (a *Access) ChangePassword(ctx context.Context, old, password string) error {
	p := domain.PrincipalOf(ctx)
	acc, err := a.store.AccountByID(ctx, p.ID)
	if err != nil {
		return err
	}
	if acc.Password != "" {
		if wait := a.throttle.try(acc.Name, domain.OriginOf(ctx).Remote, a.now()); wait > 0 {
			return throttled(wait)
		}
		good, err := a.matches(ctx, old, acc.Password)
		if err != nil {
			return err
		}
		if !good {
			return domain.Fail(domain.Invalid, "this is not the password in force").At("old").Coded("access.wrong_old")
		}
		a.throttle.clear(acc.Name, domain.OriginOf(ctx).Remote)
	}
	return a.SetPassword(ctx, acc.Name, password)
}

// SetPassword gives an account a new password and ends all its sessions.
func (a *Access) SetPassword(ctx context.Context, name, password string) error {
	if err := checkPassword(password); err != nil {
		return err
	}
	hash, err := a.hash(ctx, password)
	if err != nil {
		return err
	}
	return a.change(ctx, name, "account.password", func(ctx context.Context, acc *Account) error {
		acc.Password = hash
		return a.store.DeleteSessions(ctx, acc.ID)
	})
}

// ThrottledError is a refusal that ends by itself.
type ThrottledError struct {
	err  *domain.Error
	wait time.Duration
}

// Error is the refusal in words.
func (t *ThrottledError) Error() string { return t.err.Error() }

// Unwrap gives the refusal as a domain error.
func (t *ThrottledError) Unwrap() error { return t.err }

// RetryAfter is how long to wait.
func (t *ThrottledError) RetryAfter() time.Duration { return t.wait }

func throttled(wait time.Duration) error {
	s := strconv.Itoa(int(math.Ceil(wait.Seconds())))
	e := domain.Fail(domain.Denied, "too many failed logins for this name or from this address; try again in %s seconds", s)
	return &ThrottledError{e.Coded("access.throttled", "seconds", s), wait}
}
