package center

import (
	"context"
	"errors"
	"testing"
	"time"
)

// What a machine's clock says is of no account once the database's was read.
func TestTheClockIsTheDatabasesWhateverTheMachinesSays(t *testing.T) {
	var off, set time.Duration
	c := &clock{wall: func() time.Time { return time.Now().Add(off) }}
	database := func(context.Context) (time.Time, error) { return time.Now().UTC().Add(set), nil }
	want := func(what string, ahead time.Duration) {
		t.Helper()
		if d := time.Until(c.now()) - ahead; d.Abs() > 200*time.Millisecond {
			t.Errorf("%s: the clock is %s off", what, d)
		}
		if now := c.now(); now.Location() != time.UTC || now.Nanosecond()%int(time.Millisecond) != 0 {
			t.Errorf("%s: %s is no instant to the millisecond in UTC", what, now)
		}
	}
	off = time.Hour
	want("before the database was read", time.Hour)
	measure := func() {
		t.Helper()
		if err := c.measure(t.Context(), database); err != nil {
			t.Fatal(err)
		}
	}
	measure()
	want("read once", 0)
	for _, off = range []time.Duration{-2 * time.Hour, 26 * time.Hour, 10 * time.Second} {
		want("the machine's clock was set", 0)
		measure()
		want("and the database's read again", 0)
	}
	set = 26 * time.Hour // the machine slept, or the database's own clock was set
	want("not known yet", 0)
	measure()
	want("the database's clock was set", 26*time.Hour)
	set = 0
	measure()
	want("and back", 0)
	if err := c.measure(t.Context(), func(context.Context) (time.Time, error) { return time.Time{}, errors.New("away") }); err == nil {
		t.Error("a database that is away was not told")
	}
	want("the database is away", 0)
}

// A reading that took long says little, and does not move a clock that fits it.
func TestASlowReadingMovesNothing(t *testing.T) {
	c := &clock{wall: time.Now}
	if err := c.measure(t.Context(), func(context.Context) (time.Time, error) { return time.Now(), nil }); err != nil {
		t.Fatal(err)
	}
	before := c.last.Load()
	slow := func(context.Context) (time.Time, error) {
		said := time.Now()
		time.Sleep(100 * time.Millisecond) // on its way back
		return said, nil
	}
	if err := c.measure(t.Context(), slow); err != nil {
		t.Fatal(err)
	}
	if c.last.Load() != before {
		t.Error("the clock followed a slow answer")
	}
}
