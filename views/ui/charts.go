package ui

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Small pictures are drawn in boxes of fixed units and stretched by the page, so
// bars and lines carry no text; axes are text beside them.

const (
	slotWidth   = 10.0
	chartHeight = 100.0
)

// Stack is one slot of a bar picture: parts from the bottom up, and what it says.
type Stack struct {
	Parts []Part
	Title string
}

// Part is one piece of a bar. Kind is a state, or done or planned.
type Part struct {
	Kind  string
	Value int64
}

type bar struct {
	kind       string
	x, y, w, h float64
}

// stackBars lays out slot i of a picture whose tallest stack is top.
func stackBars(i int, s Stack, top int64) []bar {
	var bars []bar
	base := chartHeight
	for _, p := range s.Parts {
		if p.Value <= 0 || top <= 0 {
			continue
		}
		h := math.Max(chartHeight*float64(p.Value)/float64(top), 1.5)
		h = math.Min(h, base)
		base -= h
		bars = append(bars, bar{kind: p.Kind, x: float64(i)*slotWidth + 1, y: base, w: slotWidth - 2, h: h})
	}
	return bars
}

func topOf(stacks []Stack) int64 {
	var top int64
	for _, s := range stacks {
		var sum int64
		for _, p := range s.Parts {
			sum += p.Value
		}
		top = max(top, sum)
	}
	return top
}

// num prints a coordinate with at most one decimal.
func num(v float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
}

func box(w, h float64) string { return "0 0 " + num(w) + " " + num(h) }

// Curve is one line of a line picture. A point with Gap breaks it.
type Curve struct {
	Kind   string
	Area   bool
	Points []Point
}

// Point is a place on a line: X from 0 to 1 along the axis, Y a value.
type Point struct {
	X   float64
	Y   float64
	Gap bool
}

const lineWidth = 1000.0

// path draws a curve under the ceiling top. An area is closed at the bottom.
func (c Curve) path(top float64) string {
	var b strings.Builder
	open, first, last := false, 0.0, 0.0
	end := func() {
		if open && c.Area {
			fmt.Fprintf(&b, "L%s %sL%s %sZ", num(last), num(chartHeight), num(first), num(chartHeight))
		}
		open = false
	}
	for _, p := range c.Points {
		if p.Gap {
			end()
			continue
		}
		x, y := p.X*lineWidth, chartHeight*(1-math.Min(p.Y/top, 1))
		if !open {
			open, first = true, x
			b.WriteString("M")
		} else {
			b.WriteString("L")
		}
		last = x
		b.WriteString(num(x) + " " + num(y))
	}
	end()
	return b.String()
}

// dots draws the points that stand alone, which a line can't show: strokes of no
// length, round because of their caps.
func (c Curve) dots(top float64) string {
	var b strings.Builder
	for i, p := range c.Points {
		before, after := i == 0 || c.Points[i-1].Gap, i == len(c.Points)-1 || c.Points[i+1].Gap
		if !c.Area && !p.Gap && before && after {
			b.WriteString("M" + num(p.X*lineWidth) + " " + num(chartHeight*(1-math.Min(p.Y/top, 1))) + "h0")
		}
	}
	return b.String()
}

// NiceCeiling is the smallest of 1, 2, 5 × a power of ten of unit that is at
// least d, for the top of an axis.
func NiceCeiling(d, unit time.Duration) time.Duration {
	for step := unit; ; step *= 10 {
		for _, m := range []time.Duration{1, 2, 5} {
			if step*m >= d {
				return step * m
			}
		}
	}
}

const (
	stripSlots  = 14
	stripSlot   = 8.0
	stripHeight = 32.0
	stripBase   = 24.0
)

type stripBar struct {
	run    Run
	bar    bar
	failed bool
}

// stripBars lays out the newest runs: height by duration, a cross under failures.
func stripBars(runs []Run) []stripBar {
	if len(runs) > stripSlots {
		runs = runs[len(runs)-stripSlots:]
	}
	var longest time.Duration
	for _, r := range runs {
		longest = max(longest, r.Duration)
	}
	offset := stripSlots - len(runs)
	var bars []stripBar
	for i, r := range runs {
		h := 6.0
		if longest > 0 {
			h += 16 * math.Sqrt(float64(r.Duration)/float64(longest))
		}
		b := bar{kind: r.Status.State, x: float64(offset+i) * stripSlot, y: stripBase - h, w: stripSlot - 2, h: h}
		bars = append(bars, stripBar{run: r, bar: b, failed: r.Status.State == stateFailed})
	}
	return bars
}

// stripText sums a strip up for those who can't see it.
func stripText(t func(key string, args ...any) string, runs []Run) string {
	failed := 0
	for _, r := range runs {
		if r.Status.State == stateFailed {
			failed++
		}
	}
	return t("ui.strip", "n", len(runs), "failed", failed)
}

// share is part of whole in per cent, kept within 0 and 100.
func share(part, whole time.Duration) float64 {
	if whole <= 0 {
		return 0
	}
	return math.Max(0, math.Min(100, 100*float64(part)/float64(whole)))
}
