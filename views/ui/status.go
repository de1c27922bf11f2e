package ui

// The states and the three groups into which running falls apart.
const (
	stateRunning   = "running"
	stateSuccess   = "success"
	stateFailed    = "failed"
	stateRetrying  = "retrying"
	stateCancelled = "cancelled"

	groupWaiting   = "waiting"
	groupQueued    = "queued"
	groupExecuting = "executing"
)

// Group is the state, with running split into waiting, queued and executing. It
// is what filters, counts and icons go by. A status without state is "none".
func (s Status) Group() string {
	if s.State == "" {
		return "none"
	}
	if s.State != stateRunning {
		return s.State
	}
	switch s.Label {
	case "waiting_deps", "waiting_approval", "held_overlap", "held_pool":
		return groupWaiting
	case "queued", "dispatched":
		return groupQueued
	}
	return groupExecuting
}

// look is how a group is drawn: an icon of the sprite, and a glyph for small
// pictures, as a path in a box of 14 by 14.
type look struct {
	icon  string
	glyph string
}

func lookOf(group string) look {
	switch group {
	case stateSuccess:
		return look{icon: "circle-check", glyph: "M3 7.5 6 10.5 11.5 4.5"}
	case stateFailed:
		return look{icon: "circle-x", glyph: "M3.5 3.5l7 7M10.5 3.5l-7 7"}
	case stateRetrying:
		return look{icon: "rotate-clockwise", glyph: "M11 5.5A4.5 4.5 0 1 0 11.5 8M11.3 2.5v3h-3"}
	case stateCancelled:
		return look{icon: "ban", glyph: "M3 7h8"}
	case groupWaiting:
		return look{icon: "hourglass", glyph: "M4 2.5h6L7 7l3 4.5H4L7 7z"}
	case groupQueued:
		return look{icon: "stack-2", glyph: "M3 4.5h8M3 7h8M3 9.5h8"}
	case groupExecuting:
		return look{icon: "player-play", glyph: "M5 3.5v7l5.5-3.5z"}
	}
	return look{icon: "circle-dashed", glyph: ""}
}

// Glyph is the path of the status in a box of 14 by 14, for pictures.
func (s Status) Glyph() string { return lookOf(s.Group()).glyph }
