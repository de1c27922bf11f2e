package ui

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestGroupSplitsRunning(t *testing.T) {
	for label, want := range map[string]string{
		"waiting_deps": "waiting", "waiting_approval": "waiting", "held_overlap": "waiting", "held_pool": "waiting",
		"queued": "queued", "dispatched": "queued", "executing": "executing", "stopping": "executing", "orphan": "executing",
	} {
		if got := (Status{State: "running", Label: label}).Group(); got != want {
			t.Errorf("running/%s is in %s, want %s", label, got, want)
		}
	}
	if got := (Status{State: "failed", Label: "queued"}).Group(); got != "failed" {
		t.Errorf("failed is in %s", got)
	}
	if got := (Status{}).Group(); got != "none" {
		t.Errorf("nothing is in %s", got)
	}
}

func TestStackBarsFillTheTallestStack(t *testing.T) {
	s := Stack{Parts: []Part{{"failed", 1}, {"done", 899}, {"planned", 0}}}
	bars := stackBars(0, s, 900)
	if len(bars) != 2 || bars[0].kind != "failed" {
		t.Fatalf("bars are %+v", bars)
	}
	if bars[0].h < 1 {
		t.Errorf("one failure of 900 can't be seen: %.2f", bars[0].h)
	}
	if top := bars[1].y; top < 0 || top > 1 {
		t.Errorf("the tallest stack ends at %.2f, want the top", top)
	}
	if got := stackBars(0, s, 0); got != nil {
		t.Errorf("an empty picture has bars %v", got)
	}
}

func TestStripKeepsTheNewestAndMarksFailures(t *testing.T) {
	var runs []Run
	for i := range 20 {
		runs = append(runs, Run{Status: Status{State: "success"}, Duration: time.Duration(i) * time.Second})
	}
	runs[19].Status.State = "failed"
	bars := stripBars(runs)
	if len(bars) != stripSlots || !bars[13].failed || bars[12].failed {
		t.Fatalf("%d bars, last failed: %v", len(bars), bars[13].failed)
	}
	if bars[13].bar.h <= bars[0].bar.h {
		t.Error("a longer run is not drawn higher")
	}
	few := stripBars(runs[17:])
	if len(few) != 3 || few[2].bar.x != bars[13].bar.x {
		t.Error("few runs do not stand at the newest end")
	}
}

func TestCurveBreaksAtGaps(t *testing.T) {
	c := Curve{Area: true, Points: []Point{{X: 0, Y: 1}, {X: .5, Y: 2}, {Gap: true}, {X: 1, Y: 9}}}
	path := c.path(2)
	if strings.Count(path, "M") != 2 || strings.Count(path, "Z") != 2 {
		t.Errorf("path %s is not two closed pieces", path)
	}
	if !strings.Contains(path, "1000 0") {
		t.Errorf("path %s leaves the ceiling", path)
	}
}

func TestNiceCeiling(t *testing.T) {
	for d, want := range map[time.Duration]time.Duration{time.Millisecond: time.Millisecond, 3 * time.Millisecond: 5 * time.Millisecond, 412 * time.Millisecond: 500 * time.Millisecond, 1900 * time.Millisecond: 2 * time.Second, 2001 * time.Millisecond: 5 * time.Second} {
		if got := NiceCeiling(d, time.Millisecond); got != want {
			t.Errorf("NiceCeiling(%s) = %s, want %s", d, got, want)
		}
	}
}

func TestDescribedByNamesWhatIsThere(t *testing.T) {
	got := strings.Fields(Field{Name: "a", Help: "h", Error: "e"}.describedBy())
	if !slices.Equal(got, []string{"e-a", "h-a"}) {
		t.Errorf("described by %v", got)
	}
	if got := (Field{Name: "a"}).describedBy(); got != "" {
		t.Errorf("described by %q", got)
	}
}
