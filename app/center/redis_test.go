package center

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/axsched/ax/modules/kit/redistest"
	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/transport"
)

// Damaged entries are dropped and block nobody; what a broker read and did not
// remove comes again to the one that follows, first.
func TestTheMailDropsWhatIsDamagedAndHandsOnWhatWasLeft(t *testing.T) {
	redistest.Each(t, func(t *testing.T, url string) {
		c, err := transport.Dial(url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		ctx := t.Context()
		first := newMail(c, "first", &clock{}, &poison{})
		if got, err := first.Read(ctx, 10); err != nil || len(got) != 0 {
			t.Fatalf("%v, %v", got, err)
		}
		began := time.Now()
		for _, body := range []string{`{"worker":"w","boot":1,"started":[{"attempt":5}]}`, `{"worker":`, `[]`, `{"boot":1}`} {
			if err := c.XAdd(ctx, &redis.XAddArgs{Stream: protocol.KeyUplink, Values: []any{protocol.EntryField, body}}).Err(); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.XAdd(ctx, &redis.XAddArgs{Stream: protocol.KeyUplink, Values: []any{"other", "field"}}).Err(); err != nil {
			t.Fatal(err)
		}
		got, err := first.Read(ctx, 10)
		if err != nil || len(got) != 1 || got[0].Said.Worker != "w" || got[0].Said.Started[0].Attempt != 5 {
			t.Fatalf("%+v, %v", got, err)
		}
		if age := got[0].At.Sub(began); age < -time.Minute || age > time.Minute {
			t.Errorf("written %s after the test began", age)
		}
		second := newMail(c, "second", &clock{}, &poison{})
		again, err := second.Read(ctx, 10)
		if err != nil || len(again) != 1 || again[0].ID != got[0].ID {
			t.Fatalf("the successor reads %+v, %v", again, err)
		}
		if err := second.Remove(ctx, []string{again[0].ID}); err != nil {
			t.Fatal(err)
		}
		if n, err := c.XLen(ctx, protocol.KeyUplink).Result(); err != nil || n != 0 {
			t.Fatalf("%d entries are left, %v", n, err)
		}
	})
}
