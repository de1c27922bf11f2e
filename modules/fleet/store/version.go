package store

import (
	"cmp"
	"strconv"
	"strings"
)

// newer reports whether a version is later than another: numbers count as numbers, the rest as text.
func newer(a, b string) bool {
	x, y := strings.FieldsFunc(a, notWord), strings.FieldsFunc(b, notWord)
	for i := range min(len(x), len(y)) {
		n, errN := strconv.Atoi(x[i])
		m, errM := strconv.Atoi(y[i])
		order := strings.Compare(x[i], y[i])
		if errN == nil && errM == nil {
			order = cmp.Compare(n, m)
		}
		if order != 0 {
			return order > 0
		}
	}
	return len(x) > len(y)
}

func notWord(r rune) bool { return r == '.' || r == '-' || r == '+' || r == '_' }
