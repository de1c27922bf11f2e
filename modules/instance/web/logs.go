package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/instance"
	"github.com/axsched/ax/modules/kit/httpx"
	"github.com/axsched/ax/modules/kit/i18n"
	"github.com/axsched/ax/worker/protocol"
)

const (
	logPage    = 500
	pollFirst  = 200 * time.Millisecond // between looks for new lines
	pollMost   = time.Second
	olderLines = 1000
)

// shown are the streams as people know them.
var shown = map[string]string{protocol.StreamOut: "stdout", protocol.StreamErr: "stderr"}

func streamOf(l instance.LogLine) string {
	if s, ok := shown[l.Stream]; ok {
		return s
	}
	return protocol.StreamAX
}

// textOf is a line's text; for one that stands for output that was not kept, how
// much that was, in the reader's language.
func textOf(ctx context.Context, l instance.LogLine) string {
	if l.Stream != protocol.StreamGap {
		return l.Text
	}
	lines, size := l.Lost()
	return i18n.T(ctx, "log.gap", "n", lines, "bytes", size)
}

// row is a line as scripts take it: [number, ms, stream, text].
func row(ctx context.Context, l instance.LogLine) [4]any {
	return [4]any{l.No, domain.Millis(l.At), streamOf(l), textOf(ctx, l)}
}

func rows(ctx context.Context, lines []instance.LogLine) [][4]any {
	out := make([][4]any, len(lines))
	for i, l := range lines {
		out[i] = row(ctx, l)
	}
	return out
}

// logOf is the attempt that the request asks for, or the newest of the instance;
// ok is false when there is none yet, and of what was split: its shards have them.
func (h *Handlers) logOf(ctx context.Context, in domain.Instance, asked string) (a domain.Attempt, ok bool, err error) {
	all, err := h.Records.Store.AttemptsOf(ctx, in.ID)
	if err != nil {
		return a, false, err
	}
	if asked == "" {
		if len(all) == 0 || in.IsSplit() {
			return a, false, nil
		}
		return all[len(all)-1], true, nil
	}
	for _, one := range all {
		if one.ID.String() == asked {
			return one, true, nil
		}
	}
	return a, false, domain.Fail(domain.NotFound, "instance %s has no attempt %q", in.ID, asked).At("attempt").Coded("http.not_found")
}

// number reads a whole number ≥ 0 from the query; absent is 0.
func number(c echo.Context, name string) (int64, error) {
	text := c.QueryParam(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, domain.Fail(domain.Invalid, "%q is not a line number: write a whole number from 0", text).At(name)
	}
	return n, nil
}

type logLine struct {
	N      int64  `json:"n"`
	Time   stamp  `json:"time"`
	Stream string `json:"stream"`
	Text   string `json:"text"`
	Cont   bool   `json:"cont,omitempty"` // its text goes on from an earlier line's
}

// logLines is one page of an attempt's output.
type logLines struct {
	Attempt  domain.ID `json:"attempt"`
	Lines    []logLine `json:"lines"`
	Last     int64     `json:"last"`     // the number of its last line
	Complete bool      `json:"complete"` // no more will come
	// Shards: it was split into so many, and each has its output under its own id.
	Shards int `json:"shards,omitempty"`
}

func (h *Handlers) apiLogs(c echo.Context) error {
	ctx := c.Request().Context()
	in, err := h.instance(c, domain.ActLogRead)
	if err != nil {
		return err
	}
	after, err := number(c, "after")
	if err != nil {
		return err
	}
	limit, err := httpx.Limit(c, logPage, instance.MaxLogLines)
	if err != nil {
		return err
	}
	a, ok, err := h.logOf(ctx, in, c.QueryParam("attempt"))
	if err != nil {
		return err
	}
	p := instance.LogPage{Complete: !ok && in.State.Terminal()}
	if ok {
		if p, err = h.Records.LogAfter(ctx, a, after, limit); err != nil {
			return err
		}
	}
	lines := make([]logLine, len(p.Lines))
	for i, l := range p.Lines {
		lines[i] = logLine{N: l.No, Time: stamp(l.At), Stream: streamOf(l), Text: textOf(ctx, l), Cont: l.Cont}
	}
	answer := logLines{Attempt: a.ID, Lines: lines, Last: p.Last, Complete: p.Complete}
	if !ok {
		answer.Shards = in.Shards
	}
	return c.JSON(http.StatusOK, answer)
}

// olderLines answers the lines before one, for the page.
func (h *Handlers) olderLines(c echo.Context) error {
	ctx := c.Request().Context()
	in, err := h.instance(c, domain.ActLogRead)
	if err != nil {
		return err
	}
	before, err := number(c, "before")
	if err != nil {
		return err
	}
	a, ok, err := h.logOf(ctx, in, c.QueryParam("attempt"))
	if err != nil {
		return err
	}
	var p instance.LogPage
	if ok && before > 1 {
		if p, err = h.Records.LogBefore(ctx, a, before, olderLines); err != nil {
			return err
		}
	}
	return c.JSON(http.StatusOK, rows(ctx, p.Lines))
}

// apiStream sends lines as they come. Each event's id is the number of its last
// line, so that a reader who connects again goes on behind it.
func (h *Handlers) apiStream(c echo.Context) error {
	in, err := h.instance(c, domain.ActLogRead)
	if err != nil {
		return err
	}
	after, err := number(c, "after")
	if err != nil {
		return err
	}
	if id := httpx.LastEventID(c); id != "" {
		if after, err = strconv.ParseInt(id, 10, 64); err != nil || after < 0 {
			return domain.Fail(domain.Invalid, "Last-Event-ID %q is not a line number", id)
		}
	}
	asked := c.QueryParam("attempt")
	if _, _, err := h.logOf(c.Request().Context(), in, asked); err != nil {
		return err
	}
	return httpx.Stream(c, func(ctx context.Context, s *httpx.Events) error {
		t := tail{h: h, s: s, instance: in.ID, asked: asked, after: after, resumed: after > 0}
		return t.run(ctx)
	})
}

// tail follows the output of an attempt, or of whichever is the newest.
type tail struct {
	h        *Handlers
	s        *httpx.Events
	instance domain.ID
	asked    string // an attempt's id; "" = the newest
	attempt  domain.ID
	after    int64
	resumed  bool // after is of a reader who came again, perhaps of an earlier attempt
}

func (t *tail) run(ctx context.Context) error {
	pause := pollFirst
	for {
		sent, done, err := t.look(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		if done {
			return t.s.Send(httpx.Event{ID: strconv.FormatInt(t.after, 10), Name: "end", Data: "{}"})
		}
		if sent {
			pause = pollFirst
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
		pause = min(pause*3/2, pollMost)
	}
}

// look sends what is new; done says that nothing more will come.
func (t *tail) look(ctx context.Context) (sent, done bool, err error) {
	// The instance is read first: what it says of its end is then true of the attempts.
	in, err := t.h.Records.Store.Get(ctx, t.instance)
	if err != nil {
		return false, false, err
	}
	a, ok, err := t.h.logOf(ctx, in, t.asked)
	if err != nil || !ok {
		return false, in.State.Terminal(), err
	}
	if t.attempt != a.ID {
		if t.attempt != 0 {
			t.after = 0 // another attempt counts its own lines
		}
		t.attempt = a.ID
	}
	p, err := t.h.Records.LogAfter(ctx, a, t.after, logPage)
	if err != nil {
		return false, false, err
	}
	if t.resumed && t.asked == "" && t.after > p.Last {
		t.after, t.resumed = 0, false
		return true, false, nil
	}
	t.resumed = false
	if len(p.Lines) == 0 {
		over := p.Complete && t.after >= p.Last
		return false, over && (in.State.Terminal() || t.asked != ""), nil
	}
	data, err := json.Marshal(rows(ctx, p.Lines))
	if err != nil {
		return false, false, err
	}
	t.after = p.Lines[len(p.Lines)-1].No
	return true, false, t.s.Send(httpx.Event{ID: strconv.FormatInt(t.after, 10), Data: string(data)})
}

// apiRaw answers the output as a text file: what is stored at this moment.
func (h *Handlers) apiRaw(c echo.Context) error {
	ctx := c.Request().Context()
	in, err := h.instance(c, domain.ActLogRead)
	if err != nil {
		return err
	}
	a, ok, err := h.logOf(ctx, in, c.QueryParam("attempt"))
	if err != nil {
		return err
	}
	var p instance.LogPage
	if ok {
		if p, err = h.Records.LogAfter(ctx, a, 0, instance.MaxLogLines); err != nil {
			return err
		}
	}
	head := c.Response().Header()
	head.Set(echo.HeaderContentType, "text/plain; charset=utf-8")
	head.Set(echo.HeaderContentDisposition, fmt.Sprintf(`attachment; filename="%s-%d.log"`, in.ID, a.Ordinal))
	c.Response().WriteHeader(http.StatusOK)
	if len(p.Lines) == 0 {
		return nil
	}
	var before instance.LogLine
	for len(p.Lines) > 0 {
		for _, l := range p.Lines {
			if err := writeLine(ctx, c, before, l); err != nil {
				return nil // the reader has gone
			}
			before = l
		}
		if p, err = h.Records.LogAfter(ctx, a, before.No, instance.MaxLogLines); err != nil {
			return err
		}
	}
	_, _ = fmt.Fprintln(c.Response()) // the reader may be gone
	return nil
}

// writeLine ends the line before, unless this one goes on from it, and writes this.
func writeLine(ctx context.Context, c echo.Context, before, l instance.LogLine) error {
	text := textOf(ctx, l)
	if before.No > 0 && !(l.Cont && l.Number == before.Number && l.Stream == before.Stream) {
		text = "\n" + text
	}
	_, err := c.Response().Write([]byte(text))
	return err
}
