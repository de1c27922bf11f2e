package sdk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/axsched/ax/worker/protocol"
)

// refusal is an answer of the center of 300 and above.
type refusal struct {
	status int
	after  time.Duration // Retry-After
	text   string
}

func (r *refusal) Error() string { return fmt.Sprintf("the center answered %d: %s", r.status, r.text) }

// call POSTs one signed request of an attempt and reads the answer into out. The error is a *refusal where there was an answer.
func (e *Executor) call(ctx context.Context, a *attempt, name string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	to, err := protocol.CallbackFor(a.entry.task.CallbackURL, name)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	secret := e.secret()
	protocol.SignRequest(r, e.config.Executor, e.secrets[secret], e.now(), body)
	answer, err := e.config.Client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxBody))
	if answer.StatusCode >= 300 {
		if answer.StatusCode == http.StatusUnauthorized {
			e.secretRefused(secret)
		}
		return refusalOf(answer, text)
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("the center's answer to %s is not understood: %w", name, err)
	}
	return nil
}

func refusalOf(answer *http.Response, text []byte) *refusal {
	r := &refusal{status: answer.StatusCode, text: http.StatusText(answer.StatusCode)}
	var said protocol.ExternalError
	if json.Unmarshal(text, &said) == nil && said.Error != "" {
		r.text = said.Error
	}
	if s, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil && s >= 0 {
		r.after = time.Duration(s) * time.Second
	}
	return r
}

// secret is the index of the one to sign with: the one that was taken last.
func (e *Executor) secret() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.signing
}

// secretRefused turns to the next one.
func (e *Executor) secretRefused(was int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.signing == was {
		e.signing = (was + 1) % len(e.secrets)
	}
}

// claim asks once. denied is why it may not be run, after how long the center wants to be left alone.
func (e *Executor) claim(a *attempt) (granted bool, denied string, after time.Duration) {
	var said protocol.ClaimAnswer
	err := e.call(a.ctx, a, protocol.CallClaim, protocol.ExternalClaim{TraceID: a.entry.task.TraceID, Attempt: a.entry.task.Attempt}, &said)
	var no *refusal
	switch {
	case err == nil && said.Granted:
		if said.Deadline != 0 {
			a.entry.task.Deadline = said.Deadline
		}
		return true, "", 0
	case err == nil:
		return false, "denied: " + said.Reason, 0
	case errors.As(err, &no) && (no.status == http.StatusNotFound || no.status == http.StatusBadRequest || no.status == http.StatusGone):
		return false, "denied: " + no.text, 0
	case errors.As(err, &no):
		after = no.after
	}
	e.config.Logger.Debug("executor claim", "attempt", a.key, "error", err)
	return false, "", after
}

// lateLines is for how long a report waits for the lines that came before it.
const lateLines = 2 * time.Second

// deliver reports until the center has the outcome, or this process stops: the next one goes on then.
func (e *Executor) deliver(a *attempt) {
	a.lines.wait(e.life, lateLines)
	wait, told := backoff{least: e.pace.first, most: e.pace.report}, false
	report := protocol.ExternalReport{TraceID: a.entry.task.TraceID, Attempt: a.entry.task.Attempt, ExternalOutcome: a.entry.outcome}
	for e.life.Err() == nil {
		var said json.RawMessage
		err := e.call(e.life, a, protocol.CallReport, report, &said)
		var no *refusal
		refused := errors.As(err, &no)
		switch {
		case err == nil:
			e.settle(a, "reported")
			return
		case refused && (no.status == http.StatusBadRequest || no.status == http.StatusRequestEntityTooLarge) && report.Result != nil:
			report.Result, report.Message = nil, cleanText("the result was not kept, the center refused it: "+no.text, protocol.MaxMessage)
		case e.now().Sub(time.UnixMilli(a.entry.at)) > e.pace.giveUp:
			e.config.Logger.Error("executor report is given up", "attempt", a.key, "error", err)
			e.settle(a, "given up: "+err.Error())
			return
		}
		if !told && e.life.Err() == nil {
			e.config.Logger.Warn("executor report is not taken; it is sent again until it is", "attempt", a.key, "error", err)
			told = true
		}
		var after time.Duration
		if refused {
			after = no.after
		}
		pause(e.life, min(wait.next(after), e.pace.report))
	}
}

// beat tells the center that the attempt is in hands, and hears whether it should stop.
func (e *Executor) beat(a *attempt) {
	defer e.work.Done()
	for {
		e.beatOnce(a)
		if !a.rest(e.pace.progress, nil) || !a.rest(e.pace.beat-e.pace.progress, a.news) {
			return
		}
	}
}

func (e *Executor) beatOnce(a *attempt) {
	a.mu.Lock()
	h := protocol.ExternalHeartbeat{TraceID: a.entry.task.TraceID, Attempt: a.entry.task.Attempt, Progress: a.progress,
		Text: cutRunes(cleanText(a.text, protocol.MaxMessage), protocol.MaxProgressText)}
	a.mu.Unlock()
	var said protocol.HeartbeatAnswer
	ctx, done := context.WithTimeout(e.life, e.pace.beat)
	defer done()
	if err := e.call(ctx, a, protocol.CallHeartbeat, h, &said); err != nil {
		e.config.Logger.Debug("executor heartbeat", "attempt", a.key, "error", err)
	} else if said.Cancel {
		a.cancelled(said.Reason)
	}
}

// rest waits for a time, or less long for news; false means that the attempt is settled.
func (a *attempt) rest(span time.Duration, news <-chan struct{}) bool {
	timer := time.NewTimer(span)
	defer timer.Stop()
	select {
	case <-a.over:
		return false
	case <-timer.C:
	case <-news:
	}
	return true
}

// backoff doubles from least to most.
type backoff struct{ least, most, last time.Duration }

// next is the pause before another try, not shorter than the other side asked for, with a jitter of a quarter.
func (b *backoff) next(asked time.Duration) time.Duration {
	b.last = min(max(2*b.last, b.least), b.most)
	return max(b.last-rand.N(b.last/4+1), asked)
}

// pause waits, or less long when ctx ends.
func pause(ctx context.Context, span time.Duration) {
	timer := time.NewTimer(span)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
