package setup

import "net/http"

// Answers reports whether the process says at this moment that it is ready, which a frozen one does not.
func (p *Process) Answers() bool {
	status, _ := p.readyz()
	return status == http.StatusOK
}
