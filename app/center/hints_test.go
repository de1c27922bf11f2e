package center

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/axsched/ax/config"
	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/kit/redistest"
	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/transport"
)

// Others commit without a pause while a process starts: what hears of it is complete by then. It is the race detector that
// sees the contrary.
func TestHintsAreHeardByWhatIsComplete(t *testing.T) {
	redistest.Each(t, func(t *testing.T, url string) {
		c, err := transport.Dial(url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		conf := config.Default()
		conf.Mode, conf.DatabaseURL, conf.Data = config.ModeCenter, config.StoreURL(dbtest.SQLite(t)), t.TempDir()
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		ready, ended := make(chan struct{}), make(chan error, 1)
		go func() {
			ended <- Run(ctx, Options{Config: conf, Transport: c, Registry: c, Listener: ln, Ready: func(context.Context, Welcome) { close(ready) }})
		}()
		limit := time.After(time.Minute)
		for up := false; !up; {
			for _, n := range []protocol.Nudge{protocol.NudgeTrigger, protocol.NudgeReady} {
				if err := transport.Hint(ctx, c, n); err != nil {
					t.Fatal(err)
				}
			}
			select {
			case <-ready:
				up = true
			case err := <-ended:
				t.Fatalf("it ended: %v", err)
			case <-limit:
				t.Fatal("it does not start")
			default:
			}
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
