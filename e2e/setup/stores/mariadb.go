package stores

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// HasMariaDB reports whether a MariaDB server is installed.
func HasMariaDB() bool {
	_, server := find("mariadbd")
	_, install := find("mariadb-install-db")
	return server && install
}

// The account that tests use has rights on databases named ax_… and no global right, as an operator would
// give AX: what needs more than that fails here first.
const mariadbAccounts = `CREATE USER IF NOT EXISTS 'ax'@'127.0.0.1' IDENTIFIED BY 'ax';
GRANT ALL PRIVILEGES ON ` + "`ax\\_%`" + `.* TO 'ax'@'127.0.0.1';
`

// MariaDB starts a MariaDB server with its data below parent ("" = the system's temporary folder). The URL is
// mysql://ax:ax@127.0.0.1:PORT/ without a database; the account may create and drop databases named ax_….
// Commits reach the operating system at once, not the disk: they survive a killed server, not a lost machine.
// Everything that AX must set for itself (isolation, lock wait, character set) keeps the server's defaults.
func MariaDB(parent string) (*Server, error) { return MariaDBWith(parent) }

// MariaDBWith is MariaDB with further options of the server, --name=value, which win over its own.
func MariaDBWith(parent string, options ...string) (*Server, error) {
	server, ok := find("mariadbd")
	if !ok {
		return nil, fmt.Errorf("mariadbd is not installed; e2e/setup/install.sh brings it")
	}
	s, addr, err := launch(parent, "mariadb", func(dir, port string) ([]string, error) {
		argv, err := prepareMariaDB(server, dir, port)
		return append(argv, options...), err
	}, greeted)
	if err != nil {
		return nil, err
	}
	s.URL = "mysql://ax:ax@" + addr + "/"
	return s, nil
}

// prepareMariaDB fills the data folder and returns the server's command line.
func prepareMariaDB(server, dir, port string) ([]string, error) {
	install, ok := find("mariadb-install-db")
	if !ok {
		return nil, fmt.Errorf("mariadb-install-db is not installed; e2e/setup/install.sh brings it")
	}
	data, accounts := filepath.Join(dir, "data"), filepath.Join(dir, "accounts.sql")
	// Each in a folder of its own for what is temporary: a server that starts removes what it takes for left there.
	args := []string{"--no-defaults", "--datadir=" + data, "--tmpdir=" + dir, "--auth-root-authentication-method=normal", "--skip-test-db",
		"--force"} // also where the machine's own name has no address
	argv := []string{server, "--no-defaults"}
	if os.Geteuid() == 0 {
		args, argv = append(args, "--user=root"), append(argv, "--user=root")
	}
	if out, err := exec.Command(install, args...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("mariadb-install-db: %w\n%s", err, out)
	}
	if err := os.WriteFile(accounts, []byte(mariadbAccounts), 0o600); err != nil {
		return nil, err
	}
	return append(argv,
		"--datadir="+data, "--tmpdir="+dir, "--init-file="+accounts,
		"--socket="+filepath.Join(dir, "s"), "--pid-file="+filepath.Join(dir, "pid"),
		"--bind-address=127.0.0.1", "--port="+port, "--skip-name-resolve",
		"--skip-log-bin", "--innodb-flush-log-at-trx-commit=2", "--innodb-buffer-pool-size=128M",
		"--max-connections=1000", "--performance-schema=OFF"), nil
}

// greeted reads the server's greeting, which a server sends only once it serves and has run its init file.
func greeted(addr string) error {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(2 * time.Second)); err != nil {
		return err
	}
	head := make([]byte, 5) // three bytes length, one of sequence, then protocol version 10
	if _, err := io.ReadFull(conn, head); err != nil {
		return err
	}
	if head[4] != 10 {
		return fmt.Errorf("unexpected protocol version %d", head[4])
	}
	return nil
}
