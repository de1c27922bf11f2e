package instance

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/worker/protocol"
)

// reported are the outcomes that a target may report.
var reported = []string{protocol.OutcomeSuccess, protocol.OutcomeError, protocol.OutcomeTimeout, protocol.OutcomeKilled, protocol.OutcomeWorkerLost, protocol.OutcomeRefused}

// fit makes of a report one that the database takes, whatever it says: what is out of
// all bounds is left out, with a note in the message. A report comes from other
// processes, perhaps of another version, and one that is rejected would be lost.
func fit(r protocol.Report) protocol.Report {
	var notes []string
	if !slices.Contains(reported, r.Outcome) {
		notes = append(notes, fmt.Sprintf("the outcome %q is unknown and counts as an error", short(r.Outcome)))
		r.Outcome = protocol.OutcomeError
	}
	if c := r.ExitCode; c != nil && (*c < math.MinInt32 || *c > math.MaxInt32) {
		notes = append(notes, fmt.Sprintf("the exit code %d is none", *c))
		r.ExitCode = nil
	}
	if !plausible(r.Started) || !plausible(r.Finished) {
		notes = append(notes, fmt.Sprintf("the moments %d and %d are none", r.Started, r.Finished))
		r.Started, r.Finished = 0, 0
	}
	switch {
	case len(r.Result) > protocol.MaxResult:
		notes = append(notes, fmt.Sprintf("the result of %d bytes is over the limit of %d and was not kept", len(r.Result), protocol.MaxResult))
		r.Result = nil
	case len(r.Result) > 0 && !json.Valid(r.Result):
		notes = append(notes, "the result is no JSON and was not kept")
		r.Result = nil
	}
	r.LogLines = max(r.LogLines, 0)
	if len(notes) > 0 {
		r.Message = strings.TrimSpace(CutMessage(r.Message) + " (" + strings.Join(notes, "; ") + ")")
	}
	r.Message = CutMessage(r.Message)
	return r
}

// The years of this century: a report of another is a fault, whatever the clocks.
var (
	firstMoment = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	lastMoment  = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
)

// plausible reports whether Unix milliseconds, 0 = not said, may be a moment of a task.
func plausible(ms int64) bool {
	return ms == 0 || ms >= domain.Millis(firstMoment) && ms < domain.Millis(lastMoment)
}

func short(s string) string {
	const most = 40
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
