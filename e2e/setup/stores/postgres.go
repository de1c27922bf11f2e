package stores

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// HasPostgres reports whether a PostgreSQL server is installed.
func HasPostgres() bool {
	_, ok := postgresProgram("initdb")
	return ok
}

// postgresProgram finds a program of the newest server: Debian keeps them beside one another, away from PATH.
func postgresProgram(name string) (string, bool) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if err == nil && len(found) > 0 {
		slices.Sort(found)
		return found[len(found)-1], true
	}
	return find(name)
}

// Postgres starts a PostgreSQL server with its data below parent ("" = the system's temporary folder). The URL is
// postgres://ax:ax@127.0.0.1:PORT/postgres; the account may do everything there. Commits do not reach the disk. The server
// refuses to run as root: there it runs as nobody.
func Postgres(parent string) (*Server, error) {
	server, ok := postgresProgram("postgres")
	if !ok {
		return nil, fmt.Errorf("postgres is not installed; e2e/setup/install.sh brings it")
	}
	s, addr, err := launch(parent, "postgres", func(dir, port string) ([]string, error) {
		return preparePostgres(server, dir, port)
	}, asked)
	if err != nil {
		return nil, err
	}
	s.URL = "postgres://ax:ax@" + addr + "/postgres"
	return s, nil
}

// preparePostgres fills the data folder and returns the server's command line.
func preparePostgres(server, dir, port string) ([]string, error) {
	initdb, ok := postgresProgram("initdb")
	if !ok {
		return nil, fmt.Errorf("initdb is not installed; e2e/setup/install.sh brings it")
	}
	data, password := filepath.Join(dir, "data"), filepath.Join(dir, "password")
	if err := os.WriteFile(password, []byte("ax\n"), 0o600); err != nil {
		return nil, err
	}
	var as []string
	if os.Geteuid() == 0 {
		nobody, err := user.Lookup("nobody")
		if err != nil {
			return nil, err
		}
		uid, _ := strconv.Atoi(nobody.Uid)
		gid, _ := strconv.Atoi(nobody.Gid)
		for _, path := range []string{dir, password} {
			if err := os.Chown(path, uid, gid); err != nil {
				return nil, err
			}
		}
		as = []string{"setpriv", "--reuid=" + nobody.Uid, "--regid=" + nobody.Gid, "--clear-groups"}
	}
	argv := append(slices.Clone(as), initdb, "-D", data, "-U", "ax", "--pwfile="+password, "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync")
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return append(as, server, "-D", data, "-p", port, "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "fsync=off",
		"-c", "shared_buffers=32MB", "-c", "max_connections=50"), nil
}

// asked begins a session, to which the server answers with a question for the password once it serves; before it says that it
// starts up.
func asked(addr string) error {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(2 * time.Second)); err != nil {
		return err
	}
	const said = "\x00\x03\x00\x00user\x00ax\x00database\x00postgres\x00\x00" // version 3.0 and two parameters
	if _, err := conn.Write(append([]byte{0, 0, 0, byte(len(said) + 4)}, said...)); err != nil {
		return err
	}
	answer := make([]byte, 1)
	if _, err := io.ReadFull(conn, answer); err != nil {
		return err
	}
	if answer[0] != 'R' {
		return fmt.Errorf("it answers with %q and not with a request for the password", answer)
	}
	return nil
}
