package secret

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/secret/store"
	"github.com/axsched/ax/worker/protocol/mask"
)

// MaxValue is how many bytes a value may have.
const MaxValue = 16 << 10

// maxName is how many characters a name may have.
const maxName = 100

// Secrets has the use cases. All fields must be set. Safe for concurrent use.
type Secrets struct {
	Store    *store.Store
	IDs      *domain.IDs
	Now      func() time.Time
	Projects Projects
	Jobs     Jobs
	Audit    Audit
	Seal     Sealer
}

// View is a secret with where it is and how many jobs name it.
type View struct {
	domain.Secret
	Project string
	Jobs    int
}

// List reads the secrets of the projects in sight, by project and name.
func (s *Secrets) List(ctx context.Context, seen domain.ProjectSet) ([]View, error) {
	found, err := s.Store.List(ctx, seen)
	if err != nil {
		return nil, err
	}
	out, err := s.views(ctx, found)
	slices.SortStableFunc(out, func(a, b View) int { return strings.Compare(a.Project, b.Project) })
	return out, err
}

// Get reads one; NotFound if there is none.
func (s *Secrets) Get(ctx context.Context, key domain.SecretKey) (View, error) {
	found, err := s.Store.ByNames(ctx, key.Project, []string{key.Name})
	if err != nil {
		return View{}, err
	}
	one, ok := found[key.Name]
	if !ok {
		return View{}, None(key.Name)
	}
	out, err := s.views(ctx, []domain.Secret{one.Secret})
	if err != nil {
		return View{}, err
	}
	return out[0], nil
}

// None says that a project has no secret of the name.
func None(name string) error {
	return domain.Fail(domain.NotFound, "there is no secret %q in this project", name).WithHint("ax secret list").Coded("secret.none", "name", name)
}

func (s *Secrets) views(ctx context.Context, secrets []domain.Secret) ([]View, error) {
	projects := map[domain.ID]bool{}
	for _, one := range secrets {
		projects[one.ProjectID] = true
	}
	names, err := s.Projects.Names(ctx)
	if err != nil {
		return nil, err
	}
	jobs, err := s.Jobs.SecretJobs(ctx, slices.Sorted(maps.Keys(projects)))
	if err != nil {
		return nil, err
	}
	out := make([]View, len(secrets))
	for i, one := range secrets {
		out[i] = View{Secret: one, Project: names[one.ProjectID], Jobs: jobs[one.Key()]}
	}
	return out, nil
}

// Change asks for a value.
type Change struct {
	Project string // its name; a new one is made with its first secret, where the caller may
	Name    string
	Value   string
	// Base is the version that the caller saw: Conflict if there is another now. 0 = whatever it is.
	Base int
	// Whether there must be none, or one, of the name; both false: either.
	New, Known bool
	Reason     string
}

// Allow asks whether the caller may do something in a project.
type Allow func(ctx context.Context, project domain.ID, action domain.Action) error

// Set makes a secret or gives one another value; tasks granted from then on get that. allow is asked for the right to
// change it before anything is told about it.
func (s *Secrets) Set(ctx context.Context, c Change, allow Allow) (out domain.Secret, err error) {
	if err := checkName(c.Name); err != nil {
		return out, err
	}
	if err := checkValue(c.Value); err != nil {
		return out, err
	}
	err = s.Store.Tx(ctx, func(ctx context.Context) error {
		project, err := s.Projects.Ensure(ctx, c.Project)
		if err == nil {
			err = allow(ctx, project, domain.ActSecretWrite)
		}
		if err == nil {
			err = s.Seal.Ready()
		}
		if err != nil {
			return err
		}
		was, there, err := s.Store.Lock(ctx, domain.SecretKey{Project: project, Name: c.Name})
		switch {
		case err != nil:
			return err
		case there && c.New:
			return taken(c.Name)
		case !there && (c.Known || c.Base != 0):
			return None(c.Name)
		case there && c.Base != 0 && c.Base != was.Version:
			return domain.Fail(domain.Conflict, "secret %s was changed meanwhile: %s saved version %d", c.Name, was.UpdatedBy, was.Version).
				WithHint("look at it again and repeat").Coded("secret.overtaken", "name", c.Name, "by", was.UpdatedBy, "version", strconv.Itoa(was.Version))
		}
		out, err = s.keep(ctx, c, project, was)
		return err
	})
	return out, err
}

func taken(name string) error {
	return domain.Fail(domain.Exists, "there is a secret %q already", name).WithHint("give it a new value, or choose another name").At("name").Coded("secret.taken", "name", name)
}

// keep writes the value in place of was, whose id is 0 for a new secret.
func (s *Secrets) keep(ctx context.Context, c Change, project domain.ID, was domain.Secret) (domain.Secret, error) {
	now, by := s.Now(), domain.ActorOf(ctx)
	is, before := was, ""
	if was.ID == 0 {
		is = domain.Secret{ID: s.IDs.Next(), ProjectID: project, Name: c.Name, CreatedBy: by, CreatedAt: now}
	} else {
		before = standing(was, "")
	}
	is.Version, is.UpdatedBy, is.UpdatedAt = was.Version+1, by, now
	sealed, err := s.Seal.Seal([]byte(c.Value), place(is.ID))
	if err != nil {
		return is, err
	}
	if was.ID == 0 {
		err = s.Store.Insert(ctx, is, sealed)
	} else {
		err = s.Store.Update(ctx, is, sealed)
	}
	if domain.Is(err, domain.Exists) {
		return is, taken(c.Name)
	}
	if err != nil {
		return is, err
	}
	return is, s.Audit.Changed(ctx, project, string(domain.ActSecretWrite), object(is.Name), before, standing(is, c.Reason))
}

// place is what a sealed value is bound to: its row.
func place(id domain.ID) string { return "secret/" + id.String() }

// Delete removes a secret. Conflict, with their names, while jobs name it.
func (s *Secrets) Delete(ctx context.Context, key domain.SecretKey, reason string, allow Allow) error {
	return s.Store.Tx(ctx, func(ctx context.Context) error {
		if err := allow(ctx, key.Project, domain.ActSecretWrite); err != nil {
			return err
		}
		one, there, err := s.Store.Lock(ctx, key)
		if err != nil {
			return err
		}
		if !there {
			return None(key.Name)
		}
		const named = 5
		jobs, err := s.Jobs.NameSecret(ctx, key, named+1)
		if err != nil {
			return err
		}
		if len(jobs) > 0 {
			return inUse(one.Name, jobs, named)
		}
		if err := s.Store.Delete(ctx, one.ID); err != nil {
			return err
		}
		gone := "deleted"
		if reason != "" {
			gone += fmt.Sprintf(", reason: %q", reason)
		}
		return s.Audit.Changed(ctx, one.ProjectID, string(domain.ActSecretWrite), object(one.Name), standing(one, ""), gone)
	})
}

func inUse(name string, jobs []string, most int) error {
	names := strings.Join(jobs[:min(len(jobs), most)], ", ")
	if len(jobs) > most {
		names += ", …"
	}
	return domain.Fail(domain.Conflict, "secret %s cannot be deleted: these jobs name it: %s", name, names).
		WithHint("take it out of their files first").Coded("secret.in_use", "name", name, "jobs", names)
}

// Values opens secrets of a project for a task that is being granted. The error names the first that is not there or
// does not open.
func (s *Secrets) Values(ctx context.Context, project domain.ID, names []string) (map[string]string, error) {
	if len(names) == 0 {
		return nil, nil
	}
	found, err := s.Store.ByNames(ctx, project, names)
	if err != nil {
		return nil, err
	}
	out := make(map[string]string, len(names))
	for _, name := range names {
		one, ok := found[name]
		if !ok {
			return nil, domain.Fail(domain.Conflict, "the project has no secret %q", name).WithHint("an admin makes it: ax secret set " + name)
		}
		plain, err := s.Seal.Unseal(one.Sealed, place(one.ID))
		if err != nil {
			return nil, fmt.Errorf("secret %s: %w", name, err)
		}
		out[name] = string(plain)
	}
	return out, nil
}

var nameShape = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func checkName(name string) error {
	if !nameShape.MatchString(name) || len(name) > maxName {
		return domain.Fail(domain.Invalid, "%q is no name of a secret", name).At("name").WithHint("ASCII letters, digits and _, not beginning with a digit, at most 100").
			Coded("secret.bad_name", "name", name)
	}
	return nil
}

// checkValue never repeats the value.
func checkValue(value string) error {
	switch {
	case !utf8.ValidString(value):
		return domain.Fail(domain.Invalid, "the value is not UTF-8").At("value").WithHint("keep binary data as base64").Coded("secret.not_text")
	case strings.ContainsRune(value, 0):
		return domain.Fail(domain.Invalid, "the value holds a NUL character, which no environment can carry").At("value").Coded("secret.nul")
	case utf8.RuneCountInString(strings.TrimSpace(value)) < mask.Least:
		return domain.Fail(domain.Invalid, "a value has at least %d characters: a shorter one stands everywhere in ordinary output and cannot be masked", mask.Least).
			At("value").Coded("secret.short", "min", strconv.Itoa(mask.Least))
	case len(value) > MaxValue:
		return domain.Fail(domain.TooLarge, "the value holds %d bytes, more than the %d allowed", len(value), MaxValue).At("value").
			Coded("secret.long", "size", strconv.Itoa(len(value)), "max", strconv.Itoa(MaxValue))
	}
	return nil
}

func object(name string) string { return "secret/" + name }

// standing is how a secret stands, for the trail.
func standing(s domain.Secret, reason string) string {
	text := fmt.Sprintf("version: %d", s.Version)
	if reason != "" {
		text += fmt.Sprintf("\nreason: %q", reason)
	}
	return text
}
