package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// Machine is where the figures were measured, and the settings that matter for them.
type Machine struct {
	At       string   `json:"at"`
	Cores    int      `json:"cores"`
	CPU      string   `json:"cpu"`
	MemoryMB int64    `json:"memoryMb"`
	Kernel   string   `json:"kernel"`
	Go       string   `json:"go"`
	MariaDB  string   `json:"mariadb"`
	Redis    string   `json:"redis"`
	Commit   string   `json:"commit"`
	Load1    string   `json:"load1"` // one-minute load average when the bench began
	Wakes    string   `json:"wakes"` // how soon idle processes wake each other
	Settings []string `json:"settings"`
}

// The servers' options beside those of e2e/setup/stores: what an operator of a busy AX would set.
func mariadbOptions() []string {
	return []string{"--innodb-buffer-pool-size=2G", "--innodb-log-file-size=1G"}
}

func machine() Machine {
	return Machine{
		At:       time.Now().UTC().Format("2006-01-02T15:04:05Z"),
		Cores:    runtime.NumCPU(),
		CPU:      field("/proc/cpuinfo", "model name"),
		MemoryMB: kilobytes(field("/proc/meminfo", "MemTotal")) / 1024,
		Kernel:   firstLine("uname", "-sr"),
		Go:       runtime.Version(),
		MariaDB:  firstLine("sh", "-c", "PATH=$PATH:/usr/sbin:/usr/local/sbin mariadbd --no-defaults --version"),
		Redis:    firstLine("sh", "-c", "redis-server --version || valkey-server --version"),
		Commit:   firstLine("git", "describe", "--always", "--dirty"),
		Load1:    strings.Fields(read("/proc/loadavg") + " ?")[0],
		Wakes:    wakes(),
		Settings: []string{
			"all parts on this machine, over loopback",
			"MariaDB: innodb_flush_log_at_trx_commit=2, no binary log, performance_schema off, " + strings.Join(mariadbOptions(), " ") + "; in part f also " + strings.Join(historyOptions(), " "),
			"Redis: nothing kept on disk",
			"center and worker: default settings; one worker",
			"µs: processor time for one instance, less what the process takes when idle (one that polls less under load may show less than 0); row writes: rows that InnoDB was asked to write for one",
		},
	}
}

// Text is the header.
func (m Machine) Text(quick bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured %s at commit %s on %d cores of %s, %d MB, %s, %s; load before: %s; %s.\n", m.At, m.Commit, m.Cores, m.CPU, m.MemoryMB, m.Kernel, m.Go, m.Load1, m.Wakes)
	fmt.Fprintf(&b, "Stores: %s; %s.\n", m.MariaDB, m.Redis)
	for _, s := range m.Settings {
		b.WriteString("- " + s + "\n")
	}
	if quick {
		b.WriteString("- quick: fewer and shorter rounds, so the figures are rough\n")
	}
	return b.String()
}

func read(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(text)
}

// field is the first value with the name in a file of "name : value" lines; "" if there is none.
func field(path, name string) string {
	for line := range strings.Lines(read(path)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == name {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// kilobytes reads "123 kB"; anything else is 0.
func kilobytes(text string) (n int64) {
	_, _ = fmt.Sscanf(text, "%d kB", &n)
	return n
}

// firstLine is what a command says first; "unknown" when it cannot be asked.
func firstLine(command string, args ...string) string {
	out, err := exec.Command(command, args...).Output()
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if err != nil || line == "" {
		return "unknown"
	}
	return line
}

// wakes says how long a byte takes to another process and back after a millisecond of idleness. A fire is a dozen such
// hand-overs, and on a virtual machine their price changes with the neighbours: figures of two runs compare where this does.
func wakes() string {
	echo := exec.Command("cat")
	in, err := echo.StdinPipe()
	if err != nil {
		return "unknown"
	}
	out, err := echo.StdoutPipe()
	if err != nil || echo.Start() != nil {
		return "unknown"
	}
	var trips []float64
	one := make([]byte, 1)
	for range 1000 {
		time.Sleep(time.Millisecond) // idleness is what is measured
		began := time.Now()
		_, wrote := in.Write(one)
		_, got := out.Read(one)
		if wrote != nil || got != nil {
			break
		}
		trips = append(trips, float64(time.Since(began).Microseconds()))
	}
	_ = in.Close()
	_ = echo.Wait()
	s := spreadOf(trips)
	return fmt.Sprintf("a byte to an idle process and back: p50 %.0f, p95 %.0f µs", s.p50, s.p95)
}
