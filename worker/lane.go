package worker

import "sync"

// lane is a queue of granted attempts and the threads that run them. Threads of one lane never run another's.
type lane struct {
	threads int

	mu     sync.Mutex
	wake   *sync.Cond
	queue  []*attempt
	closed bool
}

func newLane(threads int) *lane {
	l := &lane{threads: threads}
	l.wake = sync.NewCond(&l.mu)
	return l
}

func (l *lane) push(as ...*attempt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = append(l.queue, as...)
	l.wake.Signal()
}

// pop waits for the next attempt; nil means that the lane is shut.
func (l *lane) pop() *attempt {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.queue) == 0 && !l.closed {
		l.wake.Wait()
	}
	if len(l.queue) == 0 {
		return nil
	}
	a := l.queue[0]
	l.queue[0] = nil
	l.queue = l.queue[1:]
	return a
}

// popAll waits for attempts and takes up to most of them; none means that the lane is shut.
func (l *lane) popAll(most int) []*attempt {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.queue) == 0 && !l.closed {
		l.wake.Wait()
	}
	k := min(most, len(l.queue))
	as := l.queue[:k:k]
	if l.queue = l.queue[k:]; len(l.queue) == 0 {
		l.queue = nil // the array is the taker's now
	}
	return as
}

// shut lets the threads end once the queue is empty.
func (l *lane) shut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.wake.Broadcast()
}
