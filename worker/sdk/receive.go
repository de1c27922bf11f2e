package sdk

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/axsched/ax/worker/protocol"
)

// maxBody bounds what the center sends: 64 KB of parameters, settings, names, and room.
const maxBody = 1 << 20

// ServeHTTP takes what the center sends, at any path: one that ends in /health or /cancel is that, any other POST a task.
func (e *Executor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimSuffix(r.URL.Path, "/")
	switch {
	case strings.HasSuffix(path, "/health") && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		e.health(w)
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		refuse(w, http.StatusMethodNotAllowed, protocol.ExternalError{Error: "an executor is sent tasks by POST, and probed by GET …/health"})
	default:
		body, ok := e.verified(w, r)
		switch {
		case !ok:
		case strings.HasSuffix(path, "/cancel"):
			e.cancel(w, body)
		default:
			e.accept(w, r, body)
		}
	}
}

func (e *Executor) health(w http.ResponseWriter) {
	if why := e.busy(); why != "" {
		later(w, why)
		return
	}
	answer(w, http.StatusOK, map[string]any{"executor": e.config.Executor, "types": slices.Sorted(maps.Keys(e.handlers))})
}

// verified reads the body and judges the signature; it has answered where it gives false.
func (e *Executor) verified(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			refuse(w, http.StatusRequestEntityTooLarge, protocol.ExternalError{Error: fmt.Sprintf("the body is over %d bytes", maxBody)})
		} else {
			refuse(w, http.StatusBadRequest, protocol.ExternalError{Error: "the body could not be read whole: " + err.Error()})
		}
		return nil, false
	}
	now := e.now()
	if name := r.Header.Get(protocol.HeaderExecutor); name != e.config.Executor {
		refuse(w, http.StatusUnauthorized, protocol.ExternalError{Error: fmt.Sprintf("this executor is %s, the request is for %q", e.config.Executor, name)})
		return nil, false
	}
	if err := protocol.VerifyRequest(r, body, e.secrets, now); err != nil {
		said := protocol.ExternalError{Error: err.Error()}
		var fault *protocol.SignatureError
		if errors.As(err, &fault) {
			said.Time = fault.Now
		}
		refuse(w, http.StatusUnauthorized, said)
		return nil, false
	}
	if !e.nonces.fresh(r.Header.Get(protocol.HeaderNonce), now) {
		refuse(w, http.StatusUnauthorized, protocol.ExternalError{Error: protocol.HeaderNonce + " was seen before: sign anew when sending again"})
		return nil, false
	}
	return body, true
}

// accept takes a task: from the answer on, this executor will claim it, also after a crash.
func (e *Executor) accept(w http.ResponseWriter, r *http.Request, body []byte) {
	var task protocol.ExternalTask
	if err := json.Unmarshal(body, &task); err != nil {
		refuse(w, http.StatusBadRequest, protocol.ExternalError{Error: "the body is no task: " + err.Error()})
		return
	}
	if task.TraceID == "" || task.Attempt == "" {
		refuse(w, http.StatusBadRequest, protocol.ExternalError{Error: "a task has a traceId and an attempt", Field: "traceId"})
		return
	}
	e.accepting.Lock()
	defer e.accepting.Unlock()
	key := keyOf(task.TraceID, task.Attempt)
	if e.find(key) != nil || e.journal.knows(key) {
		answer(w, http.StatusConflict, map[string]any{"error": "this executor has attempt " + task.Attempt + " already"})
		return
	}
	if e.handlers[task.ExecType] == nil {
		refuse(w, http.StatusNotFound, protocol.ExternalError{Field: "execType", Error: fmt.Sprintf("this executor has no type %q; it has %s",
			task.ExecType, strings.Join(slices.Sorted(maps.Keys(e.handlers)), ", "))})
		return
	}
	if why := e.reserve(); why != "" {
		later(w, why)
		return
	}
	now := e.now()
	entry := entry{key: key, state: stateAccepted, task: task, ahead: centerAhead(r, now), at: now.UnixMilli()}
	a := e.attempt(entry)
	if err := e.journal.accepted(entry); err != nil {
		e.leave(a)
		e.config.Logger.Error("executor journal", "error", err)
		later(w, "this executor's journal can't be written: "+err.Error())
		return
	}
	e.enter(a)
	answer(w, http.StatusAccepted, map[string]any{"accepted": true})
	go e.carry(a)
}

// centerAhead is how far the center's clock is before this one, in milliseconds, as its request said.
func centerAhead(r *http.Request, now time.Time) int64 {
	sent, err := strconv.ParseInt(r.Header.Get(protocol.HeaderTime), 10, 64)
	if err != nil {
		return 0
	}
	return sent - now.UnixMilli()
}

func (e *Executor) cancel(w http.ResponseWriter, body []byte) {
	var c protocol.ExternalCancel
	if err := json.Unmarshal(body, &c); err != nil {
		refuse(w, http.StatusBadRequest, protocol.ExternalError{Error: "the body is no cancel: " + err.Error()})
		return
	}
	a := e.find(keyOf(c.TraceID, c.Attempt))
	if a == nil {
		refuse(w, http.StatusNotFound, protocol.ExternalError{Error: "attempt " + c.Attempt + " is not at work here"})
		return
	}
	a.cancelled(c.Reason)
	answer(w, http.StatusAccepted, map[string]any{"cancelling": true})
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // who asked is gone
}

func refuse(w http.ResponseWriter, status int, why protocol.ExternalError) { answer(w, status, why) }

// later says "busy": not taken, send it elsewhere or again.
func later(w http.ResponseWriter, why string) {
	w.Header().Set("Retry-After", "1")
	refuse(w, http.StatusServiceUnavailable, protocol.ExternalError{Error: why})
}
