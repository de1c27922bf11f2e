package conform

// cases lists all, in the order of docs/protocol.md.
func cases() []one {
	return []one{
		{name: "unsigned", about: "a task without a signature is refused with 401 and not worked on", run: unsigned},
		{name: "signature", about: "so is one with a wrong signature, or with a body changed on the way", run: wrongSignature},
		{name: "name", about: "so is one for another executor", run: otherExecutor},
		{name: "old", about: "so is one signed more than 300 s ago, or as far in the future", run: oldTime},
		{name: "nonce", about: "so is one whose nonce was seen before", run: replayedNonce},
		{name: "type", about: "a task of a type that it has not is refused with 4xx", run: unknownType},
		{name: "health", about: "GET …/health says that it lives", run: health},
		{name: "duplicate", about: "a task delivered five times is acknowledged each time and done once", run: duplicate},
		{name: "lost-ack", about: "when the ack is lost, only the attempt that took its place is done", run: lostAck},
		{name: "slow-claim", about: "it acknowledges before it claims, while claims hang too", run: slowClaim},
		{name: "undecided", about: "a claim answered with 503 is sent again, then the task is done", run: undecided},
		{name: "denied", about: "what was not granted is not run", run: denied},
		{name: "late-answer", about: "a grant that comes more than 3 s after its claim starts nothing: it claims again", run: lateAnswer},
		{name: "heartbeat", about: "while it works it sends a heartbeat at least each 10 s", run: heartbeat},
		{name: "log", about: "log lines are numbered without a gap, and sent again from where the center says", run: logLines},
		{name: "cancel", about: "a task ends when a heartbeat's answer says so", run: cancelByHeartbeat},
		{name: "cancel-post", about: "a task ends when POST …/cancel says so", run: cancelByPost},
		{name: "time-out", about: "a task ends at its deadline and is not reported as success", run: timeOut},
		{name: "skew", about: "with clocks 200 s apart the deadline is that of the center's clock", run: skewed},
		{name: "huge", about: "64 KB of parameters come back byte for byte", run: huge},
		{name: "values", about: "parameters of any characters come back byte for byte and are never evaluated", run: oddValues},
		{name: "report-503", about: "a report answered with 503 twice is sent again, and no more once it is stored", run: reportRefused},
		{name: "report-cut", about: "a report whose connection is cut is sent again with a new nonce", run: reportCut},
		{name: "drain", about: "at SIGTERM it takes nothing new and finishes what it has", alone: true, run: drain},
	}
}
