package policy

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/axsched/ax/modules/access"
	"github.com/axsched/ax/modules/domain"
)

var update = flag.Bool("update", false, "write testdata/roles.txt anew")

// rows is a source that a test changes and breaks.
type rows struct {
	all   []access.Membership
	err   error
	reads int
}

func (r *rows) Memberships(context.Context) ([]access.Membership, error) {
	r.reads++
	return r.all, r.err
}

const (
	project = domain.ID(7)
	foreign = domain.ID(8)
)

var everyAction = []domain.Action{domain.ActProjectRead, domain.ActProjectCreate, domain.ActJobRead, domain.ActJobWrite, domain.ActJobPause, domain.ActJobDelete, domain.ActCalendarWrite,
	domain.ActInstanceRead, domain.ActInstanceTrigger, domain.ActInstanceKill, domain.ActInstanceRerun, domain.ActInstanceRerunDone, domain.ActOrphanSettle,
	domain.ActOrphanSucceed, domain.ActIncidentClose, domain.ActLogRead,
	domain.ActWorkerRead, domain.ActWorkerDrain, domain.ActAuditRead, domain.ActUserAdmin, domain.ActSecretRead, domain.ActSecretUse, domain.ActSecretWrite}

// TestRolesByAction pins the whole table, asked through casbin as callers do.
func TestRolesByAction(t *testing.T) {
	src := &rows{}
	for i, role := range access.Roles {
		src.all = append(src.all, access.Membership{UserID: domain.ID(i + 1), ProjectID: project, Role: role})
	}
	p := New(src, time.Now)
	var b strings.Builder
	fmt.Fprintf(&b, "%-24s", "")
	for _, role := range access.Roles {
		fmt.Fprintf(&b, "%-10s", role)
	}
	b.WriteString("\n")
	for _, action := range everyAction {
		fmt.Fprintf(&b, "%-24s", action)
		for i := range access.Roles {
			mark := "-"
			if p.Allowed(t.Context(), domain.ID(i+1), project, action) {
				mark = "yes"
			}
			fmt.Fprintf(&b, "%-10s", mark)
			if p.Allowed(t.Context(), domain.ID(i+1), foreign, action) || p.Allowed(t.Context(), domain.ID(i+1), domain.EveryProject, action) {
				t.Errorf("%s of project 7 may %s elsewhere", access.Roles[i], action)
			}
		}
		b.WriteString("\n")
	}
	got := regexp.MustCompile(` +\n`).ReplaceAllString(b.String(), "\n")
	t.Log("\n" + got)
	const golden = "testdata/roles.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || got != string(want) {
		t.Errorf("the table differs from %s (go test -update writes it): %v\n%s", golden, err, want)
	}
}

func TestARoleInEveryProjectHoldsInEach(t *testing.T) {
	p := New(&rows{all: []access.Membership{{UserID: 1, Role: access.Editor}, {UserID: 2, ProjectID: foreign, Role: access.Viewer},
		{UserID: 2, ProjectID: project, Role: access.Editor}, {UserID: 2, ProjectID: project, Role: access.Viewer}}}, time.Now)
	if !p.Allowed(t.Context(), 1, project, domain.ActJobWrite) || !p.Allowed(t.Context(), 1, domain.EveryProject, domain.ActJobWrite) {
		t.Error("an editor of all may not write in one")
	}
	if p.Allowed(t.Context(), 1, project, domain.ActUserAdmin) {
		t.Error("an editor of all is an admin")
	}
	if !p.Visible(t.Context(), 1, domain.ActJobRead).All {
		t.Error("an editor of all does not see all")
	}
	if got := p.Visible(t.Context(), 2, domain.ActJobRead); got.All || !slices.Equal(got.IDs, []domain.ID{project, foreign}) {
		t.Errorf("reads in %v", got)
	}
	if got := p.Visible(t.Context(), 2, domain.ActJobWrite); got.All || !slices.Equal(got.IDs, []domain.ID{project}) {
		t.Errorf("writes in %v", got)
	}
	for _, nobody := range []domain.ID{0, 3} {
		if !p.Visible(t.Context(), nobody, domain.ActJobRead).Empty() || p.Allowed(t.Context(), nobody, project, domain.ActProjectRead) {
			t.Errorf("account %d may do something", nobody)
		}
	}
}

func TestUnknownActionsAreNobodys(t *testing.T) {
	p := New(&rows{all: []access.Membership{{UserID: 1, Role: access.Admin}}}, time.Now)
	if p.Known("job.reed") || p.Allowed(t.Context(), 1, project, "job.reed") {
		t.Error("a misspelt action is granted")
	}
	for _, a := range everyAction {
		if !p.Known(a) {
			t.Errorf("%s is in nobody's reach", a)
		}
	}
}

func TestAnswersAgeAndAreInvalidated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &rows{all: []access.Membership{{UserID: 1, ProjectID: project, Role: access.Viewer}}}
		p := New(src, time.Now)
		ask := func() bool { return p.Allowed(t.Context(), 1, project, domain.ActJobRead) }
		for range 100 {
			if !ask() {
				t.Fatal("a viewer may not read")
			}
		}
		if src.reads != 1 {
			t.Errorf("%d reads for 100 questions at once", src.reads)
		}
		src.all = nil
		p.Invalidate()
		if ask() {
			t.Error("an invalidated answer still holds")
		}
		src.all = []access.Membership{{UserID: 1, ProjectID: project, Role: access.Viewer}} // by another process
		time.Sleep(fresh - time.Millisecond)
		if ask() {
			t.Error("the source was asked too early")
		}
		time.Sleep(2 * time.Millisecond)
		ask() // answers at once and fetches behind
		synctest.Wait()
		if !ask() {
			t.Error("another process's change does not count after 5 s")
		}
		src.all = nil
		time.Sleep(stale + time.Second)
		if ask() {
			t.Error("an answer older than 30 s was given")
		}
	})
}

func TestWhileTheSourceIsAwayTheLastAnswersHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &rows{err: errors.New("away")}
		p := New(src, time.Now)
		if p.Allowed(t.Context(), 1, project, domain.ActJobRead) {
			t.Error("somebody may do something before memberships are known")
		}
		src.all, src.err = []access.Membership{{UserID: 1, ProjectID: project, Role: access.Viewer}}, nil
		if !p.Allowed(t.Context(), 1, project, domain.ActJobRead) {
			t.Error("the source is back and not asked")
		}
		src.err = errors.New("away")
		time.Sleep(time.Hour)
		if !p.Allowed(t.Context(), 1, project, domain.ActJobRead) {
			t.Error("the last memberships were forgotten")
		}
	})
}
