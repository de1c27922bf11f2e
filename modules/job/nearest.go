package job

import "strings"

// nearest gives the word that was probably meant, "" when none is near: at most one slip in
// three letters, counting a swap of neighbours as one slip and case as none.
func nearest(word string, known []string) string {
	letters := len([]rune(word))
	best, bestCost := "", min(1+(letters+2)/3, letters)
	for _, k := range known {
		if cost := distance(word, k, bestCost); cost < bestCost && k != word {
			best, bestCost = k, cost
		}
	}
	return best
}

// distance counts the slips between a and b; it may stop and answer limit once it is reached.
func distance(a, b string, limit int) int {
	x, y := []rune(strings.ToLower(a)), []rune(strings.ToLower(b))
	if len(x)-len(y) >= limit || len(y)-len(x) >= limit || len(x) > MaxNameRunes || len(y) > MaxNameRunes {
		return limit
	}
	var before []int
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(x); i++ {
		next := make([]int, len(y)+1)
		next[0] = i
		least := i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			next[j] = min(row[j]+1, next[j-1]+1, row[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
			least = min(least, next[j])
		}
		if least >= limit {
			return limit
		}
		before, row = row, next
	}
	return row[len(y)]
}
