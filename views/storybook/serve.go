package storybook

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/axsched/ax/views/jobs"
)

func serveList(w http.ResponseWriter, r *http.Request) { render(w, r, index()) }

// serveLog streams made-up lines: as many as ?n= says, then ends. With ?before=
// it answers older ones.
func serveLog(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if before := number(q.Get("before")); before > 0 {
		serveRange(w, before)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	if err := http.NewResponseController(w).Flush(); err != nil {
		return
	}
	from := max(number(q.Get("after")), number(r.Header.Get("Last-Event-ID")))
	for no := from; no < from+number(q.Get("n")); {
		var lines [][]any
		for range 500 {
			no++
			lines = append(lines, logLine(no))
		}
		data, err := json.Marshal(lines)
		if err != nil {
			return
		}
		if _, err := fmt.Fprintf(w, "id: %d\ndata: %s\n\n", no, data); err != nil {
			return
		}
	}
	if number(q.Get("n")) == 0 {
		<-r.Context().Done() // a task that says nothing at the moment
		return
	}
	_, _ = fmt.Fprint(w, "event: end\ndata: {}\n\n")
}

func serveRange(w http.ResponseWriter, before int64) {
	lines := [][]any{}
	for no := max(1, before-1000); no < before; no++ {
		lines = append(lines, logLine(no))
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(lines); err != nil {
		return // the reader left
	}
}

func logLine(no int64) []any {
	at := now().Add(time.Duration(no) * 150 * time.Millisecond).UnixMilli()
	if no%17 == 0 {
		return []any{no, at, "stderr", fmt.Sprintf("slow query 2.31s: select uid, score where bucket=%d <img src=x onerror=alert(1)>", no)}
	}
	return []any{no, at, "stdout", fmt.Sprintf("chunk %d/640 scored in %d ms (rows=18,820)", no%640, 380+no%40)}
}

func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func serveCheck(w http.ResponseWriter, r *http.Request) {
	render(w, r, jobs.Check(Shell("en", ""), goodCheck("en")))
}
