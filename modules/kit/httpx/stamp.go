package httpx

import (
	"encoding/json"
	"time"
)

// Stamp is a moment as the API writes it: RFC 3339 in UTC with milliseconds, null for one
// that has not come.
type Stamp time.Time

// MarshalJSON writes it.
func (s Stamp) MarshalJSON() ([]byte, error) {
	t := time.Time(s)
	if t.IsZero() {
		return []byte("null"), nil
	}
	return json.Marshal(t.UTC().Format("2006-01-02T15:04:05.000Z07:00"))
}
