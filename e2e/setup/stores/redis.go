package stores

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// RedisDatabases is how many numbered databases a private Redis has; tests take one each.
const RedisDatabases = 4096

// HasRedis reports whether a Redis server is installed.
func HasRedis() bool {
	_, ok := find("redis-server", "valkey-server")
	return ok
}

// Redis starts a Redis server that keeps nothing on disk, with RedisDatabases numbered databases. The URL is
// redis://127.0.0.1:PORT without a number.
func Redis(parent string) (*Server, error) { return RedisWith(parent) }

// RedisWith is Redis with further options of the server, --name value, which win over its own.
func RedisWith(parent string, options ...string) (*Server, error) {
	server, ok := find("redis-server", "valkey-server")
	if !ok {
		return nil, fmt.Errorf("redis-server is not installed; e2e/setup/install.sh brings it")
	}
	s, addr, err := launch(parent, "redis", func(dir, port string) ([]string, error) {
		return append([]string{server,
			"--bind", "127.0.0.1", "--port", port, "--dir", dir,
			"--save", "", "--appendonly", "no", "--databases", fmt.Sprint(RedisDatabases)}, options...), nil
	}, pong)
	if err != nil {
		return nil, err
	}
	s.URL = "redis://" + addr
	return s, nil
}

// pong is a server's readiness.
func pong(addr string) error {
	answers, err := Ask(addr, "PING")
	if err == nil && answers[0] != "+PONG" {
		err = fmt.Errorf("PING was answered by %q", answers[0])
	}
	return err
}

// Sentinel starts one Sentinel that watches the Redis at master (HOST:PORT) under the name "main" and alone decides: it
// takes a master for down after half a second of silence. The URL is redis-sentinel://127.0.0.1:PORT/main.
func Sentinel(parent, master string) (*Server, error) {
	server, ok := find("redis-server", "valkey-server")
	if !ok {
		return nil, fmt.Errorf("redis-server is not installed; e2e/setup/install.sh brings it")
	}
	host, port, err := net.SplitHostPort(master)
	if err != nil {
		return nil, err
	}
	s, addr, err := launch(parent, "sentinel", func(dir, own string) ([]string, error) {
		text := fmt.Sprintf("bind 127.0.0.1\nport %s\ndir %s\nsentinel monitor main %s %s 1\nsentinel down-after-milliseconds main 500\n"+
			"sentinel failover-timeout main 3000\nsentinel parallel-syncs main 1\n", own, dir, host, port)
		file := filepath.Join(dir, "sentinel.conf")
		return []string{server, file, "--sentinel"}, os.WriteFile(file, []byte(text), 0o600)
	}, pong)
	if err != nil {
		return nil, err
	}
	s.URL = "redis-sentinel://" + addr + "/main"
	return s, nil
}

// Ask sends inline commands whose answers are one line each (PING, SELECT, INCR, FLUSHDB) over one connection
// and returns the lines. An error answer of Redis is an error.
func Ask(addr string, commands ...string) ([]string, error) {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return nil, err
	}
	in := bufio.NewReader(conn)
	answers := make([]string, 0, len(commands))
	for _, command := range commands {
		if _, err := fmt.Fprintf(conn, "%s\r\n", command); err != nil {
			return nil, err
		}
		line, err := in.ReadString('\n')
		if err != nil {
			return nil, err
		}
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(line, "-") {
			return nil, fmt.Errorf("%s: %s", command, line[1:])
		}
		answers = append(answers, line)
	}
	return answers, nil
}
