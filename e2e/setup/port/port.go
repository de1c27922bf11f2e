// Package port finds loopback ports that stay free while the process that listens there is down:
// tests kill and restart servers under one address, and a port of the range that the system takes
// for outgoing connections may be gone by then. It imports the standard library only.
package port

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
)

// Ports are looked for in [lowest, highest): above what needs privileges and well-known servers,
// below what Linux takes for outgoing connections (ip(7), ip_local_port_range: from 32768).
const (
	lowest  = 15_000
	highest = 32_000
	tries   = 200
)

// Listen listens on a free port.
func Listen() (net.Listener, error) {
	var last error
	for range tries {
		ln, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", lowest+rand.IntN(highest-lowest)))
		if err == nil {
			return ln, nil
		}
		last = err
	}
	return nil, errors.Join(fmt.Errorf("no free port of %d to %d in %d tries", lowest, highest-1, tries), last)
}

// Free is the address of a port that nobody listens on.
func Free() (string, error) {
	ln, err := Listen()
	if err != nil {
		return "", err
	}
	return ln.Addr().String(), ln.Close()
}
