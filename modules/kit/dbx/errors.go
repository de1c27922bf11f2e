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
	"strconv"
	"strings"

	"github.com/axsched/ax/modules/domain"
	mysqldriver "github.com/go-sql-driver/mysql"
	"gorm.io/gorm"
)

// The server's error numbers that dbx tells apart.
const (
	erTooMany      = 1040 // connections
	erShutdown     = 1053
	erNoSuchThread = 1094
	erLockWait     = 1205
	erDeadlock     = 1213
	erReadOnly     = 1290
	erQueryKilled  = 1317
	erConnKilled   = 1927 // MariaDB
	erNoWait       = 3572 // MySQL
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
	case away(err):
		return &domain.Error{Kind: domain.Unavailable, Msg: "the database is away: " + err.Error(), Err: err}
	}
	return err
}

func away(err error) bool {
	var my *mysqldriver.MySQLError
	if errors.As(err, &my) {
		switch my.Number {
		case erTooMany, erShutdown, erLockWait, erDeadlock, erReadOnly, erQueryKilled, erConnKilled, erNoWait:
			return true
		}
		return false
	}
	var n net.Error
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, mysqldriver.ErrInvalidConn) || errors.Is(err, io.EOF) ||
		errors.Is(err, context.DeadlineExceeded) || errors.As(err, &n) || busy(err)
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
