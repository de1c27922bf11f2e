// Package storybook shows every page in its states with made-up data: for people
// who change a page, and for the browser tests. It touches nothing else; no
// command of the product serves it but development's.
package storybook

import (
	"net/http"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/axsched/ax/static"
	"github.com/axsched/ax/views/layout"
)

// Story is one page in one state. Page draws it in a shell of the wanted language
// and theme.
type Story struct {
	Name string
	Page func(s layout.Shell) templ.Component
}

// Stories lists every page with its states, in the order of the navigation.
func Stories() []Story {
	var all []Story
	for _, part := range [][]Story{entryStories(), boardStories(), jobStories(), editStories(), runStories(), instanceStories(), orphanStories(), backfillStories(), ledgerStories(), calendarStories(), graphStories(), poolStories(), secretStories(), workerStories(), incidentStories(), projectStories(), auditStories(), accountStories()} {
		all = append(all, part...)
	}
	return all
}

// now is the moment at which all made-up data stands.
func now() time.Time { return time.Date(2026, 11, 27, 2, 42, 17, 0, time.UTC) }

func shanghai() *time.Location { return time.FixedZone("Asia/Shanghai", 8*3600) }

// Shell is the frame of a story.
func Shell(lang, theme string) layout.Shell {
	return layout.Shell{
		Lang: lang, Theme: theme, Now: now(), Zone: shanghai(), CSRF: "csrf-token", Path: "/",
		Environment: "production", Project: "default", Version: "1.0.0",
		User:  layout.User{Name: "lin", Role: "admin"},
		Zones: []string{"Asia/Shanghai", "Europe/Berlin", "UTC"},
	}
}

// Policy is the content security policy under which every page must work.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
	"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Handler serves /story/<name>?lang=&theme= and the static files. Without a name
// it lists the stories.
func Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+static.Prefix, serveStatic)
	mux.HandleFunc("GET /{$}", serveList)
	mux.HandleFunc("GET /log", serveLog)
	mux.HandleFunc("POST /check", serveCheck)
	for _, s := range Stories() {
		mux.HandleFunc("GET /story/"+s.Name, func(w http.ResponseWriter, r *http.Request) {
			q := r.URL.Query()
			render(w, r, s.Page(Shell(q.Get("lang"), q.Get("theme"))))
		})
	}
	return mux
}

func render(w http.ResponseWriter, r *http.Request, page templ.Component) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", Policy)
	if err := page.Render(r.Context(), w); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

func serveStatic(w http.ResponseWriter, r *http.Request) {
	a, ok := static.Lookup(strings.TrimPrefix(r.URL.Path, static.Prefix), r.Header.Get("Accept-Encoding"))
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", a.ContentType)
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	if a.Encoding != "" {
		w.Header().Set("Content-Encoding", a.Encoding)
	}
	if _, err := w.Write(a.Data); err != nil {
		return // the reader left
	}
}
