package scheduler

import (
	"fmt"
	"testing"
	"time"
)

// Twelve faults a second for a minute are said at the start, at each change of reason, and each 10 s with their number.
func TestAComplaintIsSaidSeldom(t *testing.T) {
	var c complaint
	at := time.Unix(1000, 0)
	if c.over() {
		t.Error("nothing was wrong, and it is over")
	}
	said, counted := 0, 0
	for i := range 720 {
		fault := "refused"
		if i >= 180 && i%2 == 0 {
			fault = "mute"
		}
		if n, say := c.due(fault, at.Add(time.Duration(i)*time.Second/12)); say {
			said, counted = said+1, counted+n
			if i == 0 && n != 1 {
				t.Errorf("the first is said as %d", n)
			}
		}
	}
	if said != 11 || counted != 602 { // the last are said with the next
		t.Errorf("said %d times, of %d faults", said, counted)
	}
	if !c.over() || c.over() {
		t.Error("it does not end once")
	}
	if n, say := c.due("refused", at.Add(time.Minute)); !say || n != 1 {
		t.Errorf("after its end it is not said at once: %d, %v", n, say)
	}
}

func TestAFaultWhoseWordsAlwaysDifferIsSaidSeldomToo(t *testing.T) {
	var c complaint
	said := 0
	for i := range 1000 {
		if _, say := c.due(fmt.Sprintf("read tcp 127.0.0.1:%d", i), time.Unix(1000, int64(i))); say {
			said++
		}
	}
	if said != complainMost {
		t.Errorf("said %d times", said)
	}
}
