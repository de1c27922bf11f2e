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

func (l *lane) push(a *attempt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = append(l.queue, a)
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

// shut lets the threads end once the queue is empty.
func (l *lane) shut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.wake.Broadcast()
}
