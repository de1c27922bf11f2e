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
