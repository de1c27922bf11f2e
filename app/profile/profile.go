// Package profile opens the process to the Go profiler, for whoever bears a token.
//
// It owns the paths below /debug/pprof/ and refuses to tell a stranger that they are there: without the token they
// are answered like any unknown path, and without a configured token they do not exist. The roots wrap it around what
// they serve.
package profile

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"net/http/pprof"
	"strings"
)

// Path is the index; the profiles stand below it, as go tool pprof expects them.
const Path = "/debug/pprof/"

// Behind is next with the profiler in front of it for requests that bear token; every other request is next's, also
// one below Path with a wrong token. token "" returns next itself, so a process without one pays nothing.
//
// The handlers are called by name: net/http/pprof also puts them on http.DefaultServeMux, which AX never serves.
func Behind(token string, next http.Handler) http.Handler {
	if token == "" {
		return next
	}
	mux := http.NewServeMux()
	mux.HandleFunc(Path, pprof.Index) // and heap, goroutine, allocs, block, mutex, threadcreate by name
	mux.HandleFunc(Path+"cmdline", pprof.Cmdline)
	mux.HandleFunc(Path+"profile", pprof.Profile)
	mux.HandleFunc(Path+"symbol", pprof.Symbol)
	mux.HandleFunc(Path+"trace", pprof.Trace)
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, Path) || !bears(r, want) {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		mux.ServeHTTP(w, r)
	})
}

// bears compares the digests, so that the time taken tells neither the token nor its length.
func bears(r *http.Request, want [sha256.Size]byte) bool {
	scheme, got, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	digest := sha256.Sum256([]byte(got))
	return subtle.ConstantTimeCompare(digest[:], want[:]) == 1 && strings.EqualFold(scheme, "Bearer")
}
