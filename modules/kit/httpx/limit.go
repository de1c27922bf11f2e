package httpx

import (
	"context"
	"errors"
	"time"

	"github.com/axsched/ax/modules/domain"
)

const (
	// lookPatience is how long a reader is kept waiting: within 5 s there is an answer,
	// if only that a store does not answer.
	lookPatience = 4 * time.Second
	// changePatience is for changes, of which the largest (a file of thousands of jobs)
	// take a while; it ends before the server cuts the connection.
	changePatience = 50 * time.Second
)

var errTooLong = errors.New("the answer took too long")

// limit bounds a request from now on: when the scope's timer ends, so does the context.
// A body may take as long to come as a change may take.
func (r *Router) limit(ctx context.Context, method string, sc *scope) (limited context.Context, done func()) {
	limited, end := context.WithCancelCause(ctx)
	patience := r.o.Patience
	if unsafeMethod(method) {
		patience = changePatience
	}
	sc.timer = time.AfterFunc(patience, func() { end(errTooLong) })
	return limited, func() {
		sc.timer.Stop()
		end(nil)
	}
}

// overdue makes of an error of a request that ran out of time that some store does
// not answer, which is all that can be said of it.
func overdue(ctx context.Context, err error) error {
	if !errors.Is(context.Cause(ctx), errTooLong) || !errors.Is(err, context.Canceled) && domain.KindOf(err) != "" {
		return err
	}
	return &domain.Error{Kind: domain.Unavailable, Msg: errTooLong.Error(), Err: err}
}
