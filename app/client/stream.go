package client

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"time"
)

// Event is one event of a stream.
type Event struct {
	ID, Name, Data string
}

const (
	maxEventLine = 4 << 20
	// silence is how long a stream may say nothing, not even a comment.
	silence = 60 * time.Second
)

// Stream reads an event stream from after the event with the id lastID ("" = from
// its start) and hands each event to take, until take returns false, the stream
// ends (nil) or breaks (an error that is Passing).
func (c *Client) Stream(ctx context.Context, path, lastID string, take func(Event) bool) error {
	ctx, heard, done := c.listen(ctx, c.limits.look.try)
	defer done()
	req, err := c.request(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "text/event-stream")
	if lastID != "" {
		req.Header.Set("Last-Event-ID", lastID)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return c.lost(ctx, err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		text, err := io.ReadAll(io.LimitReader(res.Body, maxEventLine))
		if err != nil {
			return c.lost(ctx, err)
		}
		_, err = judge(res, text)
		return err
	}
	heard(silence)
	if err := readEvents(res.Body, func() { heard(silence) }, take); err != nil {
		return c.lost(ctx, err)
	}
	return nil
}

// readEvents parses the lines of a stream. heard is called with each line.
func readEvents(r io.Reader, heard func(), take func(Event) bool) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxEventLine)
	var e Event
	var data []string
	for lines.Scan() {
		heard()
		line := lines.Text()
		if line == "" {
			e.Data = strings.Join(data, "\n")
			if (data != nil || e.Name != "") && !take(e) {
				return nil
			}
			e, data = Event{}, nil
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "id":
			e.ID = value
		case "event":
			e.Name = value
		case "data":
			data = append(data, value)
		}
	}
	return lines.Err()
}
