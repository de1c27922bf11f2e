// Package layout owns the frame round every page: navigation, top bar, notices,
// the head with its hashed assets, and the pages for failures. It refuses to
// know what a page shows.
package layout

import (
	"time"

	"github.com/axsched/ax/views/ui"
)

// Shell is what the frame needs. The zero value renders: English, light or dark
// as the system has it, UTC, nobody logged in.
type Shell struct {
	Lang  string         // "en" or "zh-CN"
	Theme string         // "auto" (also ""), "light", "dark"
	Now   time.Time      // the moment that relative times count from
	Zone  *time.Location // the reader's zone
	CSRF  string         // the session's token, into every form
	Path  string         // path with query of this page, for /prefs to return to
	Query string         // what was searched for, to stand in the search box again

	Environment string // shown in the top bar, "production" in red; empty: no badge
	Project     string // the project in sight; empty: "default"
	Version     string // of the program
	User        User
	Nav         []NavItem // nil: the pages that exist
	Zones       []string  // offered by the zone menu

	Degraded []Notice  // parts that are away, on top of every page
	Toasts   []Toast   // answers to the action that led here
	StaleAt  time.Time // set when what is shown is older than it should be: its moment
}

// User is the person logged in.
type User struct {
	Name string
	Role string
}

// NavItem is one entry of the navigation. Page is its name: dashboard, jobs,
// instances, orphans, ledger, dag, pools, workers, incidents, projects, audit.
type NavItem struct {
	Page  string
	URL   string
	Count int64
}

// Notice says that a part is away since when and what that means, in the
// reader's language.
type Notice struct {
	Text  string
	Since time.Time
}

// Toast is a short answer. Kind is "success", "failed" or "" for neutral.
type Toast struct {
	Kind string
	Text string
	Link ui.Ref
}

// FailurePage stands for a page that could not be shown. Status is the HTTP
// status; Title and Text may be empty for the catalog's words of that status.
// For 403 Need says which permission on what is missing, Grant who gives it.
type FailurePage struct {
	Shell
	Status    int
	Title     string
	Text      string
	Need      string
	Grant     string
	RequestID string
}
