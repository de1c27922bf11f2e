package access

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/axsched/ax/modules/domain"
)

// Names of the accounts that AX makes by itself.
const (
	adminName     = "admin"
	bootstrapName = "bootstrap"
)

// FirstStart is what the environment gives for the first start; all may be "".
type FirstStart struct {
	AdminPassword  string // AX_ADMIN_PASSWORD: makes the account admin
	BootstrapToken string // AX_BOOTSTRAP_TOKEN: becomes an API token of an admin
	// Networks are those of the default project where it is made now; see SetNetworks.
	Networks []string
}

// maxSecret bounds a password or token, in bytes.
const maxSecret = 500

// short warns of secrets that whoever starts AX chose shorter than any person may:
// they hold, since a machine for trials is theirs to open.
func (a *Access) short(f FirstStart) {
	for name, text := range map[string]string{"AX_ADMIN_PASSWORD": f.AdminPassword, "AX_BOOTSTRAP_TOKEN": f.BootstrapToken} {
		if text != "" && utf8.RuneCountInString(text) < minPassword {
			a.log.Warn("a secret of the first start is short and easily guessed: fit for trials only", "variable", name, "least", minPassword)
		}
	}
}

// Start makes what a new database lacks: the default project and, as long as there
// is no account, what the environment asks for. Where nobody can log in by password
// yet it returns the secret of a set-up link, good for a day and once: print
// /setup?token=SECRET. Later starts change nothing. Several processes may call it
// at once.
func (a *Access) Start(ctx context.Context, f FirstStart) (setupSecret string, err error) {
	if t := f.BootstrapToken; len(t) > maxSecret || strings.ContainsAny(t, " \t\r\n\x00") {
		return "", domain.Fail(domain.Invalid, "AX_BOOTSTRAP_TOKEN has at most %d bytes and no spaces", maxSecret).WithHint("for example: openssl rand -hex 32")
	}
	if len(f.AdminPassword) > maxSecret {
		return "", domain.Fail(domain.Invalid, "AX_ADMIN_PASSWORD has at most %d bytes", maxSecret)
	}
	ctx = domain.WithPrincipal(ctx, domain.Principal{Name: "ax", Kind: domain.PrincipalSystem})
	hash := ""
	if f.AdminPassword != "" {
		if hash, err = a.hash(ctx, f.AdminPassword); err != nil {
			return "", err
		}
	}
	try := func() error {
		return a.store.Tx(ctx, func(ctx context.Context) error {
			setupSecret, err = a.start(ctx, f, hash)
			return err
		})
	}
	if err = try(); domain.Is(err, domain.Exists) { // another process was first
		err = try()
	}
	if err == nil {
		a.rights.Invalidate()
	}
	return setupSecret, err
}

func (a *Access) start(ctx context.Context, f FirstStart, hash string) (setupSecret string, err error) {
	if err := a.defaultProject(ctx, f.Networks); err != nil {
		return "", err
	}
	all, err := a.store.Accounts(ctx)
	if err != nil {
		return "", err
	}
	if len(all) > 0 && (f.AdminPassword != "" || f.BootstrapToken != "") {
		a.log.Debug("there are accounts already: AX_ADMIN_PASSWORD and AX_BOOTSTRAP_TOKEN count on the first start only")
	}
	if len(all) == 0 {
		a.short(f)
		if all, err = a.firstAccounts(ctx, f, hash); err != nil {
			return "", err
		}
	}
	for _, acc := range all {
		if acc.Password != "" {
			return "", nil
		}
	}
	t, secret := a.newToken(TokenSetup, 0, "first start")
	t.ExpiresAt = a.now().Add(setupLinkLife)
	return secret, a.store.InsertToken(ctx, t)
}

// defaultProject makes the default project where it is not there.
func (a *Access) defaultProject(ctx context.Context, networks []string) error {
	_, err := a.store.ProjectByName(ctx, domain.DefaultProject)
	if !domain.Is(err, domain.NotFound) {
		return err
	}
	made, err := a.EnsureProject(ctx, domain.DefaultProject)
	if err != nil || len(networks) == 0 {
		return err
	}
	a.log.Info("tasks of the default project may connect to this machine's own addresses; an admin changes that on the page Projects", "networks", networks)
	return a.setNetworks(ctx, made, networks)
}

func (a *Access) firstAccounts(ctx context.Context, f FirstStart, hash string) ([]Account, error) {
	if f.AdminPassword == "" && f.BootstrapToken == "" {
		return nil, nil
	}
	name := adminName
	if f.AdminPassword == "" {
		name = bootstrapName
	}
	acc, err := a.makeAdmin(ctx, name, hash)
	if err != nil {
		return nil, err
	}
	if f.BootstrapToken != "" {
		t, _ := a.newToken(TokenAPI, acc.ID, bootstrapName)
		t.Hash = hashSecret(f.BootstrapToken)
		if err := a.store.InsertToken(ctx, t); err != nil {
			return nil, err
		}
		if err := a.Record(ctx, Entry{Action: "token.create", Object: "token/" + t.ID.String(), After: t.shown(), Allowed: true}); err != nil {
			return nil, err
		}
	}
	return []Account{acc}, nil
}

// makeAdmin makes an admin of every project. hash may be "".
func (a *Access) makeAdmin(ctx context.Context, name, hash string) (Account, error) {
	acc := Account{ID: a.ids(), Name: name, Password: hash, CreatedAt: a.now()}
	if err := a.insertAccount(ctx, acc); err != nil {
		return acc, err
	}
	if err := a.store.InsertMembership(ctx, Membership{UserID: acc.ID, Role: Admin}); err != nil {
		return acc, err
	}
	a.store.AfterCommit(ctx, a.rights.Invalidate)
	err := a.Record(ctx, Entry{Action: "account.create", Object: "account/" + name, After: acc.shown(), Allowed: true})
	if err != nil {
		return acc, err
	}
	return acc, a.Record(ctx, Entry{Action: "role.grant", Object: "account/" + name, After: map[string]any{"role": Admin, "project": ""}, Allowed: true})
}

// SetupOpen reports whether the secret of a set-up link would still be taken.
func (a *Access) SetupOpen(ctx context.Context, secret string) (bool, error) {
	_, err := a.find(ctx, TokenSetup, secret)
	if domain.Is(err, domain.Unauthentic) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = a.nobodyYet(ctx)
	if domain.Is(err, domain.Conflict) {
		return false, nil
	}
	return err == nil, err
}

func (a *Access) nobodyYet(ctx context.Context) error {
	all, err := a.store.Accounts(ctx)
	for _, acc := range all {
		if acc.Password != "" {
			return domain.Fail(domain.Conflict, "AX is set up already").WithHint("log in").Coded("access.set_up")
		}
	}
	return err
}

// Setup makes the first admin with the secret of a set-up link. An admin without a
// password of that name gets the password.
func (a *Access) Setup(ctx context.Context, secret, name, password string) (Account, error) {
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
	ctx = domain.WithPrincipal(ctx, domain.Principal{Name: name, Kind: domain.PrincipalUser})
	var acc Account
	err = a.store.Tx(ctx, func(ctx context.Context) error {
		if _, err := a.useOnce(ctx, TokenSetup, secret); err != nil {
			return err
		}
		if err := a.nobodyYet(ctx); err != nil {
			return err
		}
		var err error
		acc, err = a.store.AccountByName(ctx, name)
		if domain.Is(err, domain.NotFound) {
			acc, err = a.makeAdmin(ctx, name, hash)
			return err
		}
		if err != nil {
			return err
		}
		acc.Password = hash
		if err := a.store.UpdateAccount(ctx, acc); err != nil {
			return err
		}
		return a.Record(ctx, Entry{Action: "account.password", Object: "account/" + name, Allowed: true})
	})
	return acc, err
}

// LoginLink returns the secret of a link that logs an admin in once within 15
// minutes: print /login?token=SECRET. Where there is no account, it makes the
// account admin without a password.
func (a *Access) LoginLink(ctx context.Context) (secret string, err error) {
	ctx = domain.WithPrincipal(ctx, domain.Principal{Name: "ax", Kind: domain.PrincipalSystem})
	err = a.store.Tx(ctx, func(ctx context.Context) error {
		acc, err := a.anAdmin(ctx)
		if err != nil {
			return err
		}
		var t Token
		t, secret = a.newToken(TokenLogin, acc.ID, "login link")
		t.ExpiresAt = a.now().Add(loginLinkLife)
		if err := a.store.InsertToken(ctx, t); err != nil {
			return err
		}
		return a.Record(ctx, Entry{Action: "token.create", Object: "account/" + acc.Name, After: t.shown(), Allowed: true})
	})
	return secret, err
}

// AdminToken makes an API token of an admin that expires, for the demo's own calls
// and the newcomer's first ones; like LoginLink it makes the account admin where
// there is none.
func (a *Access) AdminToken(ctx context.Context, name string, expires time.Time) (secret string, err error) {
	ctx = domain.WithPrincipal(ctx, domain.Principal{Name: "ax", Kind: domain.PrincipalSystem})
	err = a.store.Tx(ctx, func(ctx context.Context) error {
		acc, err := a.anAdmin(ctx)
		if err != nil {
			return err
		}
		_, secret, err = a.CreateToken(domain.WithPrincipal(ctx, domain.Principal{ID: acc.ID, Name: acc.Name, Kind: domain.PrincipalSystem}), name, expires)
		return err
	})
	return secret, err
}

// anAdmin is an enabled admin of everything, the longest here first.
func (a *Access) anAdmin(ctx context.Context) (Account, error) {
	members, err := a.store.Memberships(ctx)
	if err != nil {
		return Account{}, err
	}
	var found Account
	for _, m := range members {
		if m.ProjectID != domain.EveryProject || m.Role != Admin {
			continue
		}
		acc, err := a.store.AccountByID(ctx, m.UserID)
		if err != nil {
			return acc, err
		}
		if !acc.Disabled && acc.Name != bootstrapName && (found.ID == 0 || acc.ID < found.ID) {
			found = acc
		}
	}
	if found.ID != 0 {
		return found, nil
	}
	return a.makeAdmin(ctx, adminName, "")
}

// UseLoginLink spends the secret of a login link and tells whose it was.
func (a *Access) UseLoginLink(ctx context.Context, secret string) (Account, error) {
	var acc Account
	err := a.store.Tx(ctx, func(ctx context.Context) error {
		t, err := a.useOnce(ctx, TokenLogin, secret)
		if err != nil {
			return err
		}
		if acc, err = a.store.AccountByID(ctx, t.UserID); err != nil {
			return err
		}
		if acc.Disabled {
			return badToken()
		}
		ctx = domain.WithPrincipal(ctx, domain.Principal{ID: acc.ID, Name: acc.Name, Kind: domain.PrincipalUser})
		return a.Record(ctx, Entry{Action: "login", Object: "account/" + acc.Name, After: map[string]any{"by": "link"}, Allowed: true})
	})
	return acc, err
}
