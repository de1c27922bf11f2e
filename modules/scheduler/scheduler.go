package scheduler

import (
	"time"
)

// window is how far ahead triggers are loaded into the wheel.
const window = 30 * time.Second
