package access

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"time"
	"unicode/utf8"

	"github.com/axsched/ax/modules/domain"
)

// TokenKind says what a token is good for.
type TokenKind string

// The kinds. Login and set-up tokens are used once.
const (
	TokenAPI   TokenKind = "api"
	TokenLogin TokenKind = "login"
	TokenSetup TokenKind = "setup"
)

const (
	loginLinkLife = 15 * time.Minute
	setupLinkLife = 24 * time.Hour
	tokenPrefix   = "ax_"
)

// Token is a secret that stands for an account. Only the secret's hash is kept.
// The zero ExpiresAt is never, the zero UsedAt not yet.
type Token struct {
	ID        domain.ID
	Kind      TokenKind
	UserID    domain.ID
	Name      string
	Hash      string
	ExpiresAt time.Time
	UsedAt    time.Time
	CreatedAt time.Time
}

// newSecret has 128 random bits or more.
func newSecret() string { return tokenPrefix + rand.Text() }

func hashSecret(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

func (t Token) live(now time.Time) bool {
	return (t.ExpiresAt.IsZero() || now.Before(t.ExpiresAt)) && (t.Kind == TokenAPI || t.UsedAt.IsZero())
}

// Bearer tells whose API token the secret is. An unknown, revoked or expired one,
// or one of a disabled account, is Unauthentic.
func (a *Access) Bearer(ctx context.Context, secret string) (domain.Principal, error) {
	t, err := a.find(ctx, TokenAPI, secret)
	if err != nil {
		return domain.Principal{}, err
	}
	acc, err := a.store.AccountByID(ctx, t.UserID)
	p, err := principal(acc, err, domain.PrincipalToken)
	p.TokenID = t.ID
	return p, err
}

func (a *Access) find(ctx context.Context, kind TokenKind, secret string) (Token, error) {
	if secret == "" {
		return Token{}, badToken()
	}
	t, err := a.store.TokenByHash(ctx, kind, hashSecret(secret))
	if domain.Is(err, domain.NotFound) || err == nil && !t.live(a.now()) {
		return Token{}, badToken()
	}
	return t, err
}

func badToken() error {
	return domain.Fail(domain.Unauthentic, "the token is unknown, revoked, used or expired").WithHint("make a new one").Coded("access.bad_token")
}

// CreateToken makes an API token of the caller's account and returns its secret,
// which cannot be had again. The zero expires is never.
func (a *Access) CreateToken(ctx context.Context, name string, expires time.Time) (Token, string, error) {
	if name == "" || utf8.RuneCountInString(name) > 100 {
		return Token{}, "", domain.Fail(domain.Invalid, "a token's name has 1 to 100 characters").At("name")
	}
	if !expires.IsZero() && !expires.After(a.now()) {
		return Token{}, "", domain.Fail(domain.Invalid, "the token would be expired already").At("expiresAt")
	}
	t, secret := a.newToken(TokenAPI, domain.PrincipalOf(ctx).ID, name)
	t.ExpiresAt = expires
	err := a.store.Tx(ctx, func(ctx context.Context) error {
		if err := a.store.InsertToken(ctx, t); err != nil {
			return err
		}
		return a.Record(ctx, Entry{Action: "token.create", Object: "token/" + t.ID.String(), After: t.shown(), Allowed: true})
	})
	return t, secret, err
}

func (a *Access) newToken(kind TokenKind, account domain.ID, name string) (Token, string) {
	secret := newSecret()
	return Token{ID: a.ids(), Kind: kind, UserID: account, Name: name, Hash: hashSecret(secret), CreatedAt: a.now()}, secret
}

// shown is a token as the trail may keep it.
func (t Token) shown() any {
	m := map[string]any{"name": t.Name, "kind": t.Kind}
	if !t.ExpiresAt.IsZero() {
		m["expiresAt"] = t.ExpiresAt
	}
	return m
}

// Tokens lists the API tokens of the caller's account, oldest first.
func (a *Access) Tokens(ctx context.Context) ([]Token, error) {
	return a.store.TokensOf(ctx, domain.PrincipalOf(ctx).ID, TokenAPI)
}

// RevokeToken ends an API token of the caller's account at once.
func (a *Access) RevokeToken(ctx context.Context, id domain.ID) error {
	return a.store.Tx(ctx, func(ctx context.Context) error {
		own, err := a.Tokens(ctx)
		if err != nil {
			return err
		}
		for _, t := range own {
			if t.ID != id {
				continue
			}
			if err := a.store.DeleteToken(ctx, id); err != nil {
				return err
			}
			return a.Record(ctx, Entry{Action: "token.revoke", Object: "token/" + id.String(), Before: t.shown(), Allowed: true})
		}
		return domain.Fail(domain.NotFound, "there is no such token of yours").Coded("http.not_found")
	})
}

// useOnce spends a one-time token. Of several who try, one succeeds.
func (a *Access) useOnce(ctx context.Context, kind TokenKind, secret string) (Token, error) {
	t, err := a.find(ctx, kind, secret)
	if err != nil {
		return t, err
	}
	first, err := a.store.UseToken(ctx, t.ID, a.now())
	if err == nil && !first {
		err = badToken()
	}
	return t, err
}
