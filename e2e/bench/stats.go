package main

import (
	"math"
	"slices"
)

// percentile is the smallest of the values that at least share (0…1) of them do not exceed. The values are sorted; of
// none it is NaN, which a table shows as absent.
func percentile(sorted []float64, share float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	rank := int(math.Ceil(share*float64(len(sorted)) - 1e-9))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// median is the middle value, of an even number the mean of the two in the middle. It leaves the values as they are.
func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(values))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// spread is what is told of a set of durations, in one unit.
type spread struct {
	n             int
	p50, p95, p99 float64
	max           float64
}

func spreadOf(values []float64) spread {
	s := slices.Sorted(slices.Values(values))
	return spread{n: len(s), p50: percentile(s, 0.5), p95: percentile(s, 0.95), p99: percentile(s, 0.99), max: percentile(s, 1)}
}
