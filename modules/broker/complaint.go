package broker

import "time"

// repeatEach is how often the log says the same of what goes on failing.
const repeatEach = 10 * time.Second

// complaint is what the log was told last of something that is tried again and again.
// The zero value is ready; it is for one goroutine.
type complaint struct {
	text string
	at   time.Time
}

// due reports whether err is to be told now, which it then counts as: it is another one
// than the last, or that was told a while ago.
func (c *complaint) due(err error, now time.Time) bool {
	if text := err.Error(); text != c.text || now.Sub(c.at) >= repeatEach {
		c.text, c.at = text, now
		return true
	}
	return false
}
