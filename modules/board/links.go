package board

import (
	"cmp"
	"maps"
	"slices"

	"github.com/axsched/ax/modules/domain"
)

// links are edges in both orders, so that the ends of one job's are found without a look
// at the others. The slices are shared and never changed.
type links struct {
	byUp, byDown []domain.JobEdge
}

// set is some jobs.
type set map[domain.ID]bool

func (s set) sorted() []domain.ID { return slices.Sorted(maps.Keys(s)) }

// downs are the jobs that depend on one.
func (l links) downs(id domain.ID) []domain.ID {
	var out []domain.ID
	at, _ := slices.BinarySearchFunc(l.byUp, id, func(e domain.JobEdge, id domain.ID) int { return cmp.Compare(e.Up, id) })
	for ; at < len(l.byUp) && l.byUp[at].Up == id; at++ {
		out = append(out, l.byUp[at].Down)
	}
	return out
}

// ups are the jobs that one depends on.
func (l links) ups(id domain.ID) []domain.ID {
	var out []domain.ID
	at, _ := slices.BinarySearchFunc(l.byDown, id, func(e domain.JobEdge, id domain.ID) int { return cmp.Compare(e.Down, id) })
	for ; at < len(l.byDown) && l.byDown[at].Down == id; at++ {
		out = append(out, l.byDown[at].Up)
	}
	return out
}

// linked are the jobs that have an edge, and how many they are; when they are more than
// limit, only how many.
func (l links) linked(limit int) (set, int) {
	n, up, down := 0, 0, 0
	for up < len(l.byUp) || down < len(l.byDown) { // the least id that both orders have left
		var id domain.ID
		if down == len(l.byDown) || up < len(l.byUp) && l.byUp[up].Up < l.byDown[down].Down {
			id = l.byUp[up].Up
		} else {
			id = l.byDown[down].Down
		}
		for ; up < len(l.byUp) && l.byUp[up].Up == id; up++ {
		}
		for ; down < len(l.byDown) && l.byDown[down].Down == id; down++ {
		}
		n++
	}
	if n > limit {
		return nil, n
	}
	out := make(set, n)
	for _, e := range l.byUp {
		out[e.Up], out[e.Down] = true, true
	}
	return out, n
}

// around are a job and what can be reached from it within so many steps up, or down.
func (l links) around(id domain.ID, steps int) set {
	out := set{}
	reach(out, []domain.ID{id}, steps, l.ups)
	reach(out, []domain.ID{id}, steps, l.downs)
	return out
}

// below are the jobs and all that depends on them, step by step.
func (l links) below(jobs []domain.ID) set {
	out := set{}
	reach(out, jobs, len(l.byUp)+1, l.downs)
	return out
}

// reach adds what can be reached from start within so many steps.
func reach(into set, start []domain.ID, steps int, next func(domain.ID) []domain.ID) {
	seen := set{}
	for _, id := range start {
		seen[id], into[id] = true, true
	}
	for ; steps > 0 && len(start) > 0; steps-- {
		var further []domain.ID
		for _, id := range start {
			for _, to := range next(id) {
				if !seen[to] {
					seen[to], into[to] = true, true
					further = append(further, to)
				}
			}
		}
		start = further
	}
}

// between are the edges whose ends both are in the set.
func (l links) between(jobs set) []domain.JobEdge {
	var out []domain.JobEdge
	for _, id := range jobs.sorted() {
		at, _ := slices.BinarySearchFunc(l.byUp, id, func(e domain.JobEdge, id domain.ID) int { return cmp.Compare(e.Up, id) })
		for ; at < len(l.byUp) && l.byUp[at].Up == id; at++ {
			if jobs[l.byUp[at].Down] {
				out = append(out, l.byUp[at])
			}
		}
	}
	return out
}
