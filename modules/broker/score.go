package broker

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// The weights of the score: load per core and relative duration.
const (
	loadWeight     = 0.7
	durationWeight = 0.3
)

// target is a worker with what the broker knows of it.
type target struct {
	domain.Worker
	live    map[domain.Lane]int // sent − ended, of what takes a thread
	light   int                 // sent and not claimed, of what takes none: once granted it is as good as done
	begun   int                 // sent − ended, of what takes none: granted ones wait to be booked
	unacked int                 // of these, sent and not claimed
	// promised is what transactions under way give it, by lane; under noLane what takes no thread.
	promised map[domain.Lane]int
	rtt      time.Duration // from sending to claim, smoothed
	suspect  time.Time     // until then others are preferred: it did not acknowledge, or refused
	doubts   int           // how often in a row that was so
	shut     time.Time     // until then it gets nothing: it has just refused
}

// add counts a flight in (1) or out (−1).
func (t *target) add(f *flight, n int) {
	if f.light {
		t.begun += n
	} else {
		t.live[f.lane] += n
	}
	if !f.granted {
		t.unacked += n
		if f.light {
			t.light += n
		}
	}
}

// The bounds of how long a target is under suspicion, doubled each time in a row, and
// for how long one that refused gets nothing.
const (
	suspicion    = 15 * time.Second
	maxSuspicion = 5 * time.Minute
	refusalPause = 5 * time.Second
)

// doubt puts the target under suspicion, once for all that fell due together.
func (t *target) doubt(now time.Time) {
	if t.suspect.Sub(now) > suspicion-time.Second {
		return
	}
	t.suspect = now.Add(min(suspicion<<min(t.doubts, 8), maxSuspicion))
	t.doubts++
}

// trust ends the suspicion: it has claimed.
func (t *target) trust() { t.suspect, t.doubts = time.Time{}, 0 }

// takes reports whether the target wants work at all. One whose clock is off, or whose disk
// takes no writes, would refuse it.
func (t *target) takes() bool {
	return t.State == domain.WorkerAvailable && !t.Drain && !t.Refuses()
}

// fits reports whether the target may run the job: it has the type and every tag
// that the job demands, and takes work.
func (t *target) fits(spec domain.JobSpec) bool {
	if !t.takes() || !slices.Contains(t.Types, spec.Exec.Type) {
		return false
	}
	for _, tag := range spec.Demands() {
		if !slices.Contains(t.Tags, tag) && tag != nameTag(t.Name) {
			return false
		}
	}
	return true
}

// The bounds of what is sent ahead of the threads.
const (
	minPrefetch = 16
	maxPrefetch = 1024
	// maxBegun bounds what takes no thread and is not booked: the memory of center and
	// worker grows with it.
	maxBegun = 8 * maxPrefetch
	// highShare is the part (one of so many) of both that only lane high may use.
	highShare = 8
	// blindPrefetch bounds it while nothing is known of how long tasks take there.
	blindPrefetch = 256
)

// lightly reports whether tasks of the type take no thread there.
func (t *target) lightly(execType string) bool { return slices.Contains(t.Threadless, execType) }

// room is how many more attempts the lane may be sent: its threads, plus as much
// ahead as keeps them busy for one round trip, less what is promised, on its way or running.
// What takes no thread has a room of its own over all lanes, the most that may be
// ahead, and the last of it is for lane high.
func (t *target) room(lane domain.Lane, light bool) int {
	threads := t.Lanes[lane]
	if threads == 0 {
		return 0
	}
	if light {
		ahead, begun := maxPrefetch, maxBegun
		if lane != domain.LaneHigh {
			ahead, begun = ahead-ahead/highShare, begun-begun/highShare
		}
		return min(ahead-t.light, begun-t.begun) - t.promised[noLane]
	}
	ahead := minPrefetch
	if t.rtt > 0 {
		mean, most := t.Mean, maxPrefetch
		if mean == 0 {
			mean, most = time.Millisecond, blindPrefetch
		}
		ahead = min(max(int(time.Duration(threads)*t.rtt/mean), minPrefetch), most)
	}
	return threads + ahead - t.live[lane] - t.promised[lane]
}

// placeOf is where the job's tasks take room.
func (t *target) placeOf(spec domain.JobSpec, lane domain.Lane) domain.Lane {
	if t.lightly(spec.Exec.Type) {
		return noLane
	}
	return lane
}

// expects reports whether anything is promised to the target.
func (t *target) expects() bool {
	for _, n := range t.promised {
		if n > 0 {
			return true
		}
	}
	return false
}

// roomFor is the room that the job's tasks would take of.
func (t *target) roomFor(spec domain.JobSpec, lane domain.Lane) int {
	return t.room(lane, t.lightly(spec.Exec.Type))
}

// open reports whether the target can be given a task of the job now: it fits and has
// room. One that did not acknowledge or refused gets one attempt at a time until it
// claims; right after a refusal it gets none.
func (t *target) open(spec domain.JobSpec, lane domain.Lane, now time.Time) bool {
	return t.fits(spec) && t.roomFor(spec, lane) > 0 && !t.shut.After(now) && (!t.suspect.After(now) || t.unacked == 0)
}

func (t *target) running() int {
	n := 0
	for _, c := range t.live {
		n += c
	}
	return n
}

// noLane stands for the room of what takes no thread.
const noLane domain.Lane = ""

// score is running/cores × 0.7 + duration × 0.3, where duration is the target's
// five-minute mean over the mean of all candidates, so that one slow job does not
// drown the load. A target that ran nothing counts as average.
func score(t *target, mean time.Duration) float64 {
	relative := 1.0
	if mean > 0 && t.Mean > 0 {
		relative = float64(t.Mean) / float64(mean)
	}
	return float64(t.running())/float64(max(t.Cores, 1))*loadWeight + relative*durationWeight
}

// pick chooses among candidates by chance, the lowest score most likely: the
// weight is the inverse square of the score. nil if there is no candidate.
func pick(candidates []*target, rnd *rand.Rand) *target {
	switch len(candidates) {
	case 0:
		return nil
	case 1:
		return candidates[0]
	}
	var sum time.Duration
	known := 0
	for _, t := range candidates {
		if t.Mean > 0 {
			sum += t.Mean
			known++
		}
	}
	mean := time.Duration(0)
	if known > 0 {
		mean = sum / time.Duration(known)
	}
	weights := make([]float64, len(candidates))
	total := 0.0
	for i, t := range candidates {
		s := score(t, mean) + 0.05 // an idle target is likely, not certain
		weights[i] = 1 / (s * s)
		total += weights[i]
	}
	x := rnd.Float64() * total
	for i, w := range weights {
		if x -= w; x < 0 {
			return candidates[i]
		}
	}
	return candidates[len(candidates)-1]
}
