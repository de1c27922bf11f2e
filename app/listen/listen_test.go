package listen_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/axsched/ax/app/listen"
)

// An address that comes free soon is taken; one that does not is an error that names it; who is told to stop does not wait.
func TestAHeldAddressIsTriedAgainForAWhile(t *testing.T) {
	held, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := held.Addr().String()
	stopped, stop := context.WithCancel(t.Context())
	stop()
	began := time.Now()
	if _, err := listen.TCP(stopped, addr); err == nil || time.Since(began) > listen.Patience/2 {
		t.Errorf("told to stop, it came back after %s with %v", time.Since(began), err)
	}
	if _, err := listen.TCP(t.Context(), addr); !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), addr) || !strings.Contains(err.Error(), "--listen") {
		t.Errorf("held for good: %v", err)
	}
	time.AfterFunc(listen.Patience/4, func() { _ = held.Close() })
	ln, err := listen.TCP(t.Context(), addr)
	if err != nil {
		t.Fatalf("free after a while: %v", err)
	}
	_ = ln.Close()
}
