package lease

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// connections is the set of ids of all open connections of this process, with
// the generation at which each came. Safe for concurrent use.
type connections struct {
	mu  sync.Mutex
	gen int64
	ids map[int64]int64
}

// add puts the id in and returns the generation that has it.
func (c *connections) add(id int64) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ids == nil {
		c.ids = map[int64]int64{}
	}
	c.gen++
	c.ids[id] = c.gen
	return c.gen
}

func (c *connections) remove(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.ids, id)
}

// forget drops all ids up to the generation: the server they belonged to is gone.
func (c *connections) forget(gen int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, g := range c.ids {
		if g <= gen {
			delete(c.ids, id)
		}
	}
}

// snapshot is the ids in order and the generation that they stand for.
func (c *connections) snapshot() ([]int64, int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ids := make([]int64, 0, len(c.ids))
	for id := range c.ids {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids, c.gen
}

// encode writes ids of the server that started at start (Unix seconds) as
// "start:id,id". Ids are unique only within one life of the server.
func encode(start int64, ids []int64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d:", start)
	for i, id := range ids {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.FormatInt(id, 10))
	}
	return b.String()
}

// decode reads what encode wrote; "" is no connections.
func decode(s string) (start int64, ids []int64, err error) {
	if s == "" {
		return 0, nil, nil
	}
	head, list, ok := strings.Cut(s, ":")
	if start, err = strconv.ParseInt(head, 10, 64); err != nil || !ok {
		return 0, nil, fmt.Errorf("lease connections %q are not of the form start:id,id", s)
	}
	if list == "" {
		return start, nil, nil
	}
	for _, part := range strings.Split(list, ",") {
		id, err := strconv.ParseInt(part, 10, 64)
		if err != nil {
			return 0, nil, fmt.Errorf("lease connections %q are not of the form start:id,id", s)
		}
		ids = append(ids, id)
	}
	return start, ids, nil
}
