package dbx

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/axsched/ax/modules/domain"
	mysqldriver "github.com/go-sql-driver/mysql"
	"gorm.io/gorm"
)

// The server's error numbers that dbx tells apart.
const (
	erNoSuchThread = 1094
	erDeadlock     = 1213
)

// refusing are the server's error numbers by which it takes no writes.
var refusing = []uint16{
	1290, 1792, 1836, // read-only: an option (read_only), this transaction, InnoDB
	3, 1021, 1026, 1030, 1114, 1180, 1181, // its disk is full, or fails
}

// sqliteRefusing is the same of SQLite, as it words it.
var sqliteRefusing = []string{"database or disk is full (13)", "disk I/O error (", "attempt to write a readonly database ("}

// passing are the others that say something of its own state, not of the statement:
// the same statement may succeed later.
var passing = slices.Concat(full, locking, killed, []uint16{
	1053,                   // it shuts down
	1129,                   // it refuses this host for a while
	1152, 1158, 1159, 1160, // the connection broke, as the server sees it
	1161, 1184,
	erDeadlock,
	1037, 1038, 1041, // it is out of memory
})

var (
	full    = []uint16{1040, 1203, 1226}             // too many connections: of all, of the account, in the hour
	locking = []uint16{1205, 3572}                   // a lock was not to be had in time, or at once (MySQL)
	killed  = []uint16{1317, 1927, 1969, 3024, 4031} // the statement or the connection was killed, by a person or by a limit of its time
)

func isDeadlock(err error) bool {
	var my *mysqldriver.MySQLError
	if errors.As(err, &my) {
		return my.Number == erDeadlock
	}
	return busy(err)
}

func busy(err error) bool { return err != nil && strings.Contains(err.Error(), "SQLITE_BUSY") }

// Translate turns a driver's error into a domain kind: NotFound, Exists,
// Unavailable. What is none of these is returned as it is.
func Translate(err error) error {
	var d *domain.Error
	switch {
	case err == nil, errors.As(err, &d):
		return err
	case errors.Is(err, gorm.ErrRecordNotFound), errors.Is(err, sql.ErrNoRows):
		return &domain.Error{Kind: domain.NotFound, Msg: "no such row", Err: err}
	case errors.Is(err, gorm.ErrDuplicatedKey):
		return &domain.Error{Kind: domain.Exists, Msg: "there is such a row already", Err: err}
	case refuses(err):
		said := Reason(err)
		return (&domain.Error{Kind: domain.Unavailable, Msg: "the database takes no writes: " + said, Err: err}).Coded("http.no_writes", "said", said)
	case isDeadlock(err), Locked(err):
		return (&domain.Error{Kind: domain.Unavailable, Msg: "what this needs in the database is locked by another transaction, and was not let go in time: " + Words(err), Err: err}).
			Coded("http.locked")
	case says(err, full):
		return (&domain.Error{Kind: domain.Unavailable, Msg: "the database takes no more connections: " + Words(err), Err: err}).Coded("http.database_full")
	case says(err, killed):
		return (&domain.Error{Kind: domain.Unavailable, Msg: "somebody ended this in the database, or a limit of its time did: " + Words(err), Err: err}).Coded("http.database_killed")
	case Away(err):
		return &domain.Error{Kind: domain.Unavailable, Msg: "the database is away: " + err.Error(), Err: err}
	}
	return err
}

// says reports whether err is one of these of the server.
func says(err error, numbers []uint16) bool {
	var my *mysqldriver.MySQLError
	return errors.As(err, &my) && slices.Contains(numbers, my.Number)
}

// Locked reports whether err says that a lock was waited for in vain: another transaction has it. A deadlock is none, for it
// ends at once.
func Locked(err error) bool { return says(err, locking) || busy(err) }

// refuses reports whether err says that the server takes no writes.
func refuses(err error) bool {
	var my *mysqldriver.MySQLError
	if errors.As(err, &my) {
		return slices.Contains(refusing, my.Number)
	}
	return err != nil && slices.ContainsFunc(sqliteRefusing, func(code string) bool { return strings.Contains(err.Error(), code) })
}

// Reason is in the server's words why it takes no writes (it is read-only, its disk or a table is full); "" when err
// does not say that.
func Reason(err error) string {
	if !refuses(err) {
		return ""
	}
	return Words(err)
}

// Words is what the server said, or else the driver, without what AX says around it.
func Words(err error) string {
	var my *mysqldriver.MySQLError
	if errors.As(err, &my) {
		return fmt.Sprintf("%s (error %d)", strings.TrimSuffix(my.Message, "."), my.Number)
	}
	for {
		var d *domain.Error
		if !errors.As(err, &d) || d.Err == nil {
			return err.Error()
		}
		err = d.Err
	}
}

// answered reports whether err is what the server said, not what became of its answer.
// SQLite is in this process.
func answered(err error) bool {
	var my *mysqldriver.MySQLError
	var n net.Error
	return errors.As(err, &my) || !errors.Is(err, driver.ErrBadConn) && !errors.Is(err, mysqldriver.ErrInvalidConn) && !errors.Is(err, io.EOF) &&
		!errors.As(err, &n) && !errors.Is(err, context.Canceled) && !errors.Is(err, sql.ErrTxDone) && !errors.Is(err, sql.ErrConnDone)
}

// closedPool is what database/sql answers from a closed pool; it exports no such error.
const closedPool = "sql: database is closed"

// Away reports whether err says something of the server's state or of the way to it, and not of the statement.
func Away(err error) bool {
	var my *mysqldriver.MySQLError
	if errors.As(err, &my) {
		return slices.Contains(passing, my.Number) || slices.Contains(refusing, my.Number)
	}
	var n net.Error
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, mysqldriver.ErrInvalidConn) || errors.Is(err, io.EOF) ||
		errors.Is(err, context.DeadlineExceeded) || errors.As(err, &n) || busy(err) || refuses(err) ||
		errors.Is(err, sql.ErrConnDone) || errors.Is(err, sql.ErrTxDone) || // its context ended in the middle
		err != nil && strings.Contains(err.Error(), closedPool) // the life of this process that opened the pool is over
}

var versionNumber = regexp.MustCompile(`(\d+)\.(\d+)`)

// CheckVersion refuses a server older than MySQL 8.0 or MariaDB 10.6, given what
// SELECT VERSION() says.
func CheckVersion(v string) error {
	maria := strings.Contains(strings.ToLower(v), "mariadb")
	m := versionNumber.FindStringSubmatch(strings.TrimPrefix(v, "5.5.5-"))
	if m == nil {
		return fmt.Errorf("the database calls its version %q, which names no number", v)
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	have := major*1000 + minor
	if maria && have < 10006 {
		return fmt.Errorf("MariaDB %s is too old: AX needs 10.6 or newer", v)
	}
	if !maria && have < 8000 {
		return fmt.Errorf("MySQL %s is too old: AX needs 8.0 or newer", v)
	}
	return nil
}
