package protocol

import "strconv"

// The Redis keys. All begin with "ax:"; asynq's own begin with "asynq:".
const (
	// KeyHolders is a hash: worker name → "uid boot stamp", the stamp by Redis' clock.
	KeyHolders = "ax:holders"
	// KeyWorkers is a hash: worker name → Heartbeat as JSON.
	KeyWorkers = "ax:workers"
	// KeyCatalogs is a hash: worker name → Catalog as JSON, written when it changes.
	KeyCatalogs = "ax:catalogs"
	// KeyClock is a hash that the active broker writes at each look at the registry:
	// "stamp" by Redis' clock, and "ahead", how far that clock is before the
	// database's, in milliseconds; so a worker is compared with the database's clock
	// whatever Redis' own clock says.
	KeyClock = "ax:clock"
	// KeyUplink is the stream that workers write and the active broker reads: Uplink entries.
	KeyUplink = "ax:up"
	// KeyLogs is the stream of LogLines entries, read by every broker role as one group.
	KeyLogs = "ax:logs"
	// UplinkGroup and LogsGroup are the consumer groups of the two streams.
	UplinkGroup = "broker"
	LogsGroup   = "logs"
	// ChannelNudge is the channel on which a committed row is hinted at; the payload is a Nudge.
	ChannelNudge = "ax:nudge"
	// EntryField is the one field of every stream entry; its value is JSON.
	EntryField = "j"
	// TaskType is asynq's type of a message of attempt ids.
	TaskType = "ax:attempts"
)

// KeyProbe is what one broker writes at each look and finds again at the next one,
// unless Redis lost it.
func KeyProbe(holder string) string { return "ax:probe:" + holder }

// KeyInbox is the stream from the center to one boot of a worker: Downlink entries.
func KeyInbox(worker string, boot int64) string {
	return "ax:in:" + worker + ":" + strconv.FormatInt(boot, 10)
}

// KeyFire is the fast path's key of one fire: whoever sets it first looks first.
func KeyFire(triggerID int64, expectedMs int64) string {
	return "ax:fire:" + strconv.FormatInt(triggerID, 10) + ":" + strconv.FormatInt(expectedMs, 10)
}

// Queue is asynq's queue for one lane of one boot of a worker.
func Queue(worker string, boot int64, lane string) string {
	return worker + ":" + strconv.FormatInt(boot, 10) + ":" + lane
}

// Nudge says which kind of row was committed. It carries nothing else: whoever
// hears it looks, and whoever misses it looks at the next poll.
type Nudge string

// The nudges.
const (
	NudgeReady   Nudge = "ready"   // an instance is ready for a target
	NudgeKill    Nudge = "kill"    // an attempt is to be stopped
	NudgeTrigger Nudge = "trigger" // a trigger was made or changed
	NudgeEnded   Nudge = "ended"   // instances ended; followers of pages look again
)

// The lanes, as they stand in queue names and heartbeats.
const (
	LaneHigh    = "high"
	LaneDefault = "default"
	LaneLow     = "low"
)

// Lanes lists the lanes, most urgent first.
var Lanes = [...]string{LaneHigh, LaneDefault, LaneLow}
