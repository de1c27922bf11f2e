package stores

import (
	"bufio"
	"fmt"
	"net"
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
func Redis(parent string) (*Server, error) {
	server, ok := find("redis-server", "valkey-server")
	if !ok {
		return nil, fmt.Errorf("redis-server is not installed; e2e/setup/install.sh brings it")
	}
	s, addr, err := launch(parent, "redis", func(dir string, port int) ([]string, error) {
		return []string{server,
			"--bind", "127.0.0.1", "--port", fmt.Sprint(port), "--dir", dir,
			"--save", "", "--appendonly", "no", "--databases", fmt.Sprint(RedisDatabases)}, nil
	}, func(addr string) error {
		answers, err := Ask(addr, "PING")
		if err == nil && answers[0] != "+PONG" {
			err = fmt.Errorf("PING was answered by %q", answers[0])
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	s.URL = "redis://" + addr
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
