package crash

// Point is a moment at which a process can be made to end.
type Point struct {
	Name string
	// Where says what has happened at that moment, and what has not.
	Where string
}

// Points are all that there are, in the order of an instance's life.
func Points() []Point {
	return []Point{
		{"take.won", "due fires are won on the fast path, the database knows nothing of it"},
		{"take.inserted", "inside the transaction of taking: instances are inserted, triggers not moved on"},
		{"take.committed", "fires are committed and heard of, the timers of the next ones are not set"},
		{"commit.heard", "a change of instances is committed, nobody in this process has heard of it"},
		{"backfill.made", "inside the transaction of a backfill: runs are opened, its items do not say so"},
		{"backfill.committed", "runs of a backfill are opened, the pump has not looked on"},
		{"release.written", "inside the transaction that meets dependencies: rows are flipped, instances not released"},
		{"release.committed", "one part of what waited for a date is released, the next is not"},
		{"cancel.written", "inside the transaction of a cancel wave: instances are cancelled, their dependency rows still wait"},
		{"cancel.committed", "one step of a cancel wave is committed, the next has not begun"},
		{"split.inserted", "inside the transaction of a split: shards are inserted, their instance does not say so"},
		{"split.committed", "an instance is split, its shards are committed, none has a target"},
		{"place.held", "who finds no place in a pool is set aside, this process may not have heard of it"},
		{"place.free", "a place in a pool is free and somebody waits for it, nobody is made ready"},
		{"place.called", "the next who waits for a place is made ready, the memory does not know whether he was"},
		{"place.promised", "a place in a pool is promised by the memory, the transaction that takes it has not begun"},
		{"place.taken", "inside the transaction of sending: a place in a pool is taken, nothing is committed"},
		{"dispatch.committed", "attempts are committed, nothing is sent"},
		{"dispatch.sent", "messages are sent"},
		{"worker.dequeued", "a message is out of the queue, nothing is claimed"},
		{"worker.claimed", "claims are written, no answer is there"},
		{"grant.committed", "grants are committed, no answer is written"},
		{"worker.answered", "a granted attempt has its thread, the journal has nothing of it"},
		{"worker.started", "the journal has the start, nothing runs"},
		{"worker.ran", "the task has ended, the journal does not know how"},
		{"worker.ended", "the outcome is in the journal, nothing is reported"},
		{"worker.reported", "reports are written, nothing is confirmed"},
		{"report.received", "starts and outcomes are read, nothing of them is in the database"},
		{"report.applied", "starts and outcomes are in the database, nothing is confirmed"},
		{"report.confirmed", "outcomes are confirmed, their entries are not removed"},
		{"worker.confirmed", "the confirmation is read, the journal has nothing of it"},
		{"worker.settled", "at a boot: what the last life lost is in the journal, nothing of it is reported"},
		{"gather.heard", "shards have moved, nobody has looked at them for their instance"},
		{"gather.ended", "inside the transaction of a gathering: all shards have ended, their instance does not say so"},
		{"gather.committed", "instances stand as their shards do, the gathering has not gone on"},
		{"wake.found", "a back-off is over or a limit passed, nothing is moved"},
		{"wake.committed", "what was to wake has moved, the assigning has not been told"},
		{"withdraw.committed", "unclaimed attempts are taken back in the database, the memory still has them"},
		{"lost.found", "what a lost worker held is known, nothing of it is settled"},
		{"lost.settled", "what a lost worker held is settled, its queues are still there"},
		{"takeover.raised", "the epoch is raised, no row is read"},
		{"takeover.page", "a first page of rows is read, the term does nothing yet"},
		{"bury.condemned", "a frozen peer's lease is condemned, its connections live"},
		{"bury.killed", "a frozen peer's connections are killed, its number is not free"},
		{"logs.kept", "output is in the database, its entries are not removed"},
		{"logs.removed", "entries of output are removed, the workers are not told"},
	}
}
