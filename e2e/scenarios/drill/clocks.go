package main

import (
	"os"
	"path/filepath"
	"time"

	"github.com/axsched/ax/e2e/setup"
)

// clockVariable names, for a process of AX, the file with the duration by which its wall clock is off.
const clockVariable = "AX_CLOCK_SHIFT_FILE"

// clockFile is where the clock of the process with the name is set.
func (s *stage) clockFile(name string) string { return filepath.Join(s.site.Dir(), name+".clock") }

// opts are those of a process with the name, whose clock can be set where the stage has such clocks.
func (s *stage) opts(name string, env ...string) setup.Opts {
	if s.clocks {
		env = append(env, clockVariable+"="+s.clockFile(name))
	}
	return setup.Opts{Name: name, Env: env}
}

// setClock puts the process' wall clock off by a duration; 0 sets it right.
func (s *stage) setClock(p *setup.Process, off time.Duration) {
	file := s.clockFile(p.Name)
	err := os.WriteFile(file+".new", []byte(off.String()), 0o600)
	if err == nil {
		err = os.Rename(file+".new", file)
	}
	s.Must(err, "setting the clock of "+p.Name)
}

func shiftCenter(by time.Duration) func(t *trouble) {
	return func(t *trouble) {
		active, _ := t.broker()
		t.shift(active, by)
	}
}

func shiftWorker(by time.Duration) func(t *trouble) {
	return func(t *trouble) { t.shift(t.busiest(), by) }
}

// shift sets a clock ahead; turn sets it as much behind; mend sets it right.
func (t *trouble) shift(p *setup.Process, by time.Duration) {
	t.setClock(p, by)
	t.turn = func() { t.setClock(p, -by) }
	t.mend = func() { t.setClock(p, 0) }
}
