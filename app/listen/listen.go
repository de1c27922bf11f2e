// Package listen takes the address that a process serves on. It owns the patience with an address that is still held, and
// refuses to know what is served; the composition roots drive it.
package listen

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"
)

const (
	// Patience is how long a held address is tried again. A process that was killed as it started a task has left a child
	// that holds all its files until it has become that task, which takes a moment on a busy machine; whoever starts it
	// again at once would be refused its own address.
	Patience = 2 * time.Second
	between  = 50 * time.Millisecond
)

// TCP listens on addr until it is held by nobody, Patience has passed, or ctx ends. The error says what to do.
func TCP(ctx context.Context, addr string) (net.Listener, error) {
	for end := time.Now().Add(Patience); ; {
		ln, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
		if err == nil {
			return ln, nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) || time.Now().After(end) || ctx.Err() != nil {
			return nil, fmt.Errorf("listen: %w (another process may hold it: give another --listen)", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(between):
		}
	}
}
