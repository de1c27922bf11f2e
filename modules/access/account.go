package access

import (
	"context"
	"log/slog"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/axsched/ax/modules/domain"
)

// Account is a person, or a program that people gave a name. Password is the
// encoded Argon2id hash, "" where nobody can log in by password.
type Account struct {
	ID        domain.ID
	Name      string
	Password  string
	Disabled  bool
	Language  string
	Timezone  string
	CreatedAt time.Time
}

// Role is what somebody is in a project.
type Role string

// The roles. An admin may do everything in the project.
const (
	Viewer   Role = "viewer"
	Operator Role = "operator"
	Editor   Role = "editor"
	Approver Role = "approver"
	Admin    Role = "admin"
)

// Roles lists the roles.
var Roles = []Role{Viewer, Operator, Editor, Approver, Admin}

// Membership gives an account a role in a project; domain.EveryProject in all.
type Membership struct {
	UserID    domain.ID
	ProjectID domain.ID
	Role      Role
}

// Options of New. Store, Rights, IDs and Now are required.
type Options struct {
	Store  Store
	Rights Rights
	IDs    func() domain.ID
	Now    func() time.Time
	Log    *slog.Logger // nil = slog.Default()
}

// Access is the use cases. Safe for concurrent use.
type Access struct {
	store    Store
	rights   Rights
	ids      func() domain.ID
	now      func() time.Time
	log      *slog.Logger
	throttle *throttle
	hashing  chan struct{} // bounds the memory that hashing takes at a time
}

// New makes the use cases.
func New(o Options) *Access {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return &Access{store: o.Store, rights: o.Rights, ids: o.IDs, now: o.Now, log: o.Log,
		throttle: newThrottle(), hashing: make(chan struct{}, 4)}
}

var accountName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$`)

func checkAccountName(name string) error {
	if !accountName.MatchString(name) {
		return domain.Fail(domain.Invalid, "an account's name is 1 to 64 letters, digits, dots, dashes, underscores or @, and begins with a letter or digit").
			At("name").Coded("access.bad_name")
	}
	return nil
}

const minPassword = 8

func checkPassword(password string) error {
	if utf8.RuneCountInString(password) < minPassword || len(password) > maxSecret {
		return domain.Fail(domain.Invalid, "a password has at least %d characters and at most %d bytes", minPassword, maxSecret).
			At("password").Coded("access.bad_password")
	}
	return nil
}

// Account tells who the account is, for a session that names it. A missing or
// disabled one is Unauthentic.
func (a *Access) Account(ctx context.Context, id domain.ID) (domain.Principal, error) {
	acc, err := a.store.AccountByID(ctx, id)
	return principal(acc, err, domain.PrincipalUser)
}

func principal(acc Account, err error, kind domain.PrincipalKind) (domain.Principal, error) {
	if domain.Is(err, domain.NotFound) || err == nil && acc.Disabled {
		return domain.Principal{}, domain.Fail(domain.Unauthentic, "the account is gone or disabled").Coded("access.account_gone")
	}
	if err != nil {
		return domain.Principal{}, err
	}
	return domain.Principal{ID: acc.ID, Name: acc.Name, Kind: kind, Language: acc.Language, Timezone: acc.Timezone}, nil
}

// CreateAccount makes an account without any role.
func (a *Access) CreateAccount(ctx context.Context, name, password string) (Account, error) {
	if err := checkAccountName(name); err != nil {
		return Account{}, err
	}
	if err := checkPassword(password); err != nil {
		return Account{}, err
	}
	hash, err := a.hash(ctx, password)
	if err != nil {
		return Account{}, err
	}
	acc := Account{ID: a.ids(), Name: name, Password: hash, CreatedAt: a.now()}
	err = a.store.Tx(ctx, func(ctx context.Context) error {
		if err := a.insertAccount(ctx, acc); err != nil {
			return err
		}
		return a.Record(ctx, Entry{Action: "account.create", Object: "account/" + name, After: acc.shown(), Allowed: true})
	})
	return acc, err
}

func (a *Access) insertAccount(ctx context.Context, acc Account) error {
	err := a.store.InsertAccount(ctx, acc)
	if domain.Is(err, domain.Exists) {
		return domain.Fail(domain.Exists, "there is an account %q already", acc.Name).At("name").Coded("access.name_taken", "name", acc.Name)
	}
	return err
}

// shown is an account as the trail may keep it.
func (acc Account) shown() any {
	return map[string]any{"name": acc.Name, "disabled": acc.Disabled, "language": acc.Language, "timezone": acc.Timezone}
}

// Accounts lists all accounts by name.
func (a *Access) Accounts(ctx context.Context) ([]Account, error) { return a.store.Accounts(ctx) }

// Roles lists the roles of an account.
func (a *Access) Roles(ctx context.Context, account domain.ID) ([]Membership, error) {
	all, err := a.store.Memberships(ctx)
	var own []Membership
	for _, m := range all {
		if m.UserID == account {
			own = append(own, m)
		}
	}
	return own, err
}

// SetDisabled lets an account in or keeps it out; its sessions end and its tokens
// stop at once. The last admin of everything cannot be disabled.
func (a *Access) SetDisabled(ctx context.Context, name string, disabled bool) error {
	return a.change(ctx, name, "account.disable", func(ctx context.Context, acc *Account) error {
		acc.Disabled = disabled
		if !disabled {
			return nil
		}
		if err := a.keepAnAdmin(ctx, func(m Membership) bool { return m.UserID == acc.ID }); err != nil {
			return err
		}
		return a.store.DeleteSessions(ctx, acc.ID)
	})
}

// ChangeAccount sets a new password and whether the account is disabled, each only
// where it is given, both or none. A missing account is NotFound in any case.
func (a *Access) ChangeAccount(ctx context.Context, name string, password *string, disabled *bool) error {
	return a.store.Tx(ctx, func(ctx context.Context) error {
		if password != nil {
			if err := a.SetPassword(ctx, name, *password); err != nil {
				return err
			}
		}
		if disabled != nil {
			return a.SetDisabled(ctx, name, *disabled)
		}
		_, err := a.named(ctx, name)
		return err
	})
}

// SetProfile remembers the language and zone of the caller's own account; "" leaves
// one as it is. Whoever calls has checked both.
func (a *Access) SetProfile(ctx context.Context, language, timezone string) error {
	p := domain.PrincipalOf(ctx)
	if !p.Known() {
		return nil
	}
	return a.change(ctx, p.Name, "account.profile", func(_ context.Context, acc *Account) error {
		if language != "" {
			acc.Language = language
		}
		if timezone != "" {
			acc.Timezone = timezone
		}
		return nil
	})
}

// change rewrites an account and records both sides.
func (a *Access) change(ctx context.Context, name, action string, f func(ctx context.Context, acc *Account) error) error {
	return a.store.Tx(ctx, func(ctx context.Context) error {
		acc, err := a.named(ctx, name)
		if err != nil {
			return err
		}
		before := acc.shown()
		if err := f(ctx, &acc); err != nil {
			return err
		}
		if err := a.store.UpdateAccount(ctx, acc); err != nil {
			return err
		}
		return a.Record(ctx, Entry{Action: action, Object: "account/" + name, Before: before, After: acc.shown(), Allowed: true})
	})
}

func (a *Access) named(ctx context.Context, name string) (Account, error) {
	acc, err := a.store.AccountByName(ctx, name)
	if domain.Is(err, domain.NotFound) {
		return acc, domain.Fail(domain.NotFound, "there is no account %q", strings.ToValidUTF8(name, "")).Coded("access.no_account", "name", name)
	}
	return acc, err
}
