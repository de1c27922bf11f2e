package runner

import (
	"errors"
	"os"
	"time"
)

// pausePeriod is how long a stream must be silent in mid-line before the piece of line is shown.
const pausePeriod = time.Second

// pump moves one pipe into the capture until its end. It reads in big pieces and makes nothing per line, so it keeps
// up with any program and its memory does not depend on the output.
func pump(f *os.File, s Stream, out *Capture) {
	buf, _ := out.spool.buffers.Get().(*[chunkMax]byte)
	if buf == nil {
		buf = new([chunkMax]byte)
	}
	defer out.spool.buffers.Put(buf)
	waiting := false
	for {
		n, err := f.Read(buf[:])
		if n > 0 {
			out.Write(s, time.Now(), buf[:n])
		}
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded):
			out.pause(s, time.Now())
		default:
			return // the end, or the pipe was closed because somebody out of reach holds it
		}
		if mid := out.midLine(s); mid || waiting {
			var at time.Time
			if waiting = mid; mid {
				at = time.Now().Add(pausePeriod)
			}
			_ = f.SetReadDeadline(at) // a pipe that takes no deadline is read without pauses
		}
	}
}
