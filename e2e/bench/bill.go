package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// meter is what was used up to a moment.
type meter struct {
	at     time.Time
	cpu    map[string]time.Duration // by process
	writes int64                    // rows that the engine was asked to write; 0 where it cannot be asked
}

// cost is what one instance took, in microseconds of processor time by process, and its row writes.
type cost struct {
	cpu    map[string]float64
	all    float64
	writes float64
}

// bill is the cost of n instances between two readings, with what the processes take when idle (rest, in a second)
// taken off. A process that one of the readings does not have is left out, and out of the sum.
func bill(from, to meter, n int, rest map[string]time.Duration) cost {
	c := cost{cpu: map[string]float64{}}
	if n == 0 {
		return c
	}
	seconds := to.at.Sub(from.at).Seconds()
	for name, before := range from.cpu {
		after, ok := to.cpu[name]
		if !ok {
			continue
		}
		idle := time.Duration(float64(rest[name]) * seconds)
		c.cpu[name] = float64((after - before - idle).Microseconds()) / float64(n)
		c.all += c.cpu[name]
	}
	c.writes = float64(to.writes-from.writes) / float64(n)
	return c
}

// costColumns are the columns of a bill; those without a figure do not show.
func costColumns() []Column {
	return []Column{{"cpu_mariadb", "mariadb µs", 0}, {"cpu_redis", "redis µs", 0}, {"cpu_center", "center µs", 0},
		{"cpu_worker", "worker µs", 0}, {"cpu_all", "all µs", 0}, {"writes", "row writes", 2}}
}

func (c cost) put(r *Row) {
	for name, v := range c.cpu {
		r.put("cpu_"+name, v)
	}
	r.put("cpu_all", c.all)
	if c.writes > 0 {
		r.put("writes", c.writes)
	}
}

// ticksPerSecond is the unit of /proc/PID/stat on every Linux that AX runs on.
const ticksPerSecond = 100

// stat is what is read of /proc/PID/stat.
type stat struct {
	parent int
	ticks  int64 // of the process and of its children that ended
}

func parseStat(text string) (stat, error) {
	after := strings.LastIndex(text, ") ") + 1 // the name before it may hold anything
	fields := strings.Fields(text[after:])     // the first is field 3 of proc(5)
	if after == 0 || len(fields) < 15 {
		return stat{}, fmt.Errorf("%q is no line of /proc/PID/stat", text)
	}
	var s stat
	var err error
	if s.parent, err = strconv.Atoi(fields[1]); err != nil {
		return s, err
	}
	for _, i := range []int{14, 15, 16, 17} { // utime, stime, cutime, cstime
		n, err := strconv.ParseInt(fields[i-3], 10, 64)
		if err != nil {
			return s, err
		}
		s.ticks += n
	}
	return s, nil
}

// treeTicks sums a process and all below it.
func treeTicks(pid int, all map[int]stat) int64 {
	below := map[int][]int{}
	for p, s := range all {
		below[s.parent] = append(below[s.parent], p)
	}
	var sum int64
	for todo := []int{pid}; len(todo) > 0; {
		p := todo[len(todo)-1]
		todo = append(todo[:len(todo)-1], below[p]...)
		sum += all[p].ticks
	}
	return sum
}

// processTable reads every process. Those that end meanwhile are left out.
func processTable() map[int]stat {
	all := map[int]stat{}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, "stat"))
		if err != nil {
			continue
		}
		if s, err := parseStat(string(text)); err == nil {
			all[pid] = s
		}
	}
	return all
}

// cpuOf is the processor time of each named process with all that it started: a worker's watchdog and tasks too.
func cpuOf(pids map[string]int) map[string]time.Duration {
	all := processTable()
	out := map[string]time.Duration{}
	for name, pid := range pids {
		if _, alive := all[pid]; alive {
			out[name] = time.Duration(treeTicks(pid, all)) * time.Second / ticksPerSecond
		}
	}
	return out
}

// memoryOf is the resident memory of a process in MB.
func memoryOf(pid int) float64 {
	return float64(kilobytes(field(fmt.Sprintf("/proc/%d/status", pid), "VmRSS"))) / 1024
}
