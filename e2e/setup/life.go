package setup

// Begin begins the next life on the same data and address and does not wait until it is ready: it may end before.
func (p *Process) Begin() {
	p.t.Helper()
	if p.Alive() {
		p.t.Fatalf("%s still runs; end it before the next life", p.Name)
	}
	p.start()
}
