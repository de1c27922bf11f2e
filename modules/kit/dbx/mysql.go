package dbx

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"
)

// parseURL splits a database URL into the dialect and what its opener takes.
func parseURL(raw string) (Dialect, string, error) {
	if path, ok := strings.CutPrefix(raw, "sqlite:"); ok && path != "" {
		return SQLite, path, nil
	}
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "mysql" || u.Host == "" && u.Query().Get("socket") == "" || strings.Trim(u.Path, "/") == "" {
		return "", "", fmt.Errorf("the database URL is not of the form mysql://user:password@host:port/database or sqlite:PATH")
	}
	return MySQL, raw, nil
}

// mysqlConfig turns mysql://user:pass@host:port/db into the driver's settings.
// ?tls=true|skip-verify|preferred and ?socket=PATH are taken.
func mysqlConfig(raw string, patience time.Duration) (*mysqldriver.Config, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("the database URL cannot be read")
	}
	c := mysqldriver.NewConfig()
	c.User = u.User.Username()
	c.Passwd, _ = u.User.Password()
	c.DBName = strings.Trim(u.Path, "/")
	c.Net, c.Addr = "tcp", u.Host
	if u.Port() == "" {
		c.Addr = u.Hostname() + ":3306"
	}
	if s := u.Query().Get("socket"); s != "" {
		c.Net, c.Addr = "unix", s
	}
	c.TLSConfig = u.Query().Get("tls")
	c.ParseTime = true
	c.Loc = time.UTC
	c.InterpolateParams = true
	c.Timeout = min(patience, dialPatience)
	c.ReadTimeout = patience
	c.WriteTimeout = patience
	c.MaxAllowedPacket = 0 // ask the server
	c.Logger = driverLog{}
	c.Params = map[string]string{
		"time_zone":                "'+00:00'",
		"innodb_lock_wait_timeout": "3",
	}
	return c, c.Apply(mysqldriver.Charset("utf8mb4", "utf8mb4_bin"))
}

// dialPatience is how long a connection may take to be opened at most.
const dialPatience = 5 * time.Second

// driverLog takes what the driver says beside the errors that it returns.
type driverLog struct{}

// Print logs at debug level.
func (driverLog) Print(v ...any) { slog.Debug("mysql driver: " + fmt.Sprint(v...)) }

func (db *DB) openMySQL(raw string, o Options) error {
	c, err := mysqlConfig(raw, o.Patience)
	if err != nil {
		return err
	}
	base, err := mysqldriver.NewConnector(c)
	if err != nil {
		return fmt.Errorf("the database URL: %w", err)
	}
	pool := sql.OpenDB(&watchedConnector{Connector: base, o: o})
	pool.SetConnMaxLifetime(30 * time.Minute)
	g, err := gorm.Open(mysql.New(mysql.Config{Conn: pool, DisableWithReturning: true, SkipInitializeWithVersion: true}), gormConfig())
	if err != nil {
		_ = pool.Close()
		return err
	}
	db.g, db.sql = g, pool
	return nil
}

// sessionSettings are those that the URL cannot carry, in the spellings that MySQL and
// MariaDB share. Locks of whole tables are waited for as short as those of rows, not a
// day or a year. MariaDB, which alone knows how, ends a transaction that its owner has
// left alone for 20 s: where the network swallowed the end of a connection, its locks
// would stand for hours.
var sessionSettings = []string{
	"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
	"SET SESSION lock_wait_timeout = 3 /*M!100300 , SESSION idle_transaction_timeout = 20 */",
}

// watchedConnector gives each new connection its settings, and tells the owner of a
// lease its id before the first use, so that peers can kill the connections of a
// process that froze.
type watchedConnector struct {
	driver.Connector
	o Options
}

// Connect opens a connection and reports its id.
func (w *watchedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := w.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	var id int64
	for _, set := range sessionSettings {
		if err == nil {
			_, err = conn.(driver.ExecerContext).ExecContext(ctx, set, nil)
		}
	}
	if err == nil && (w.o.OnConnect != nil || w.o.OnClose != nil) {
		id, err = connectionID(ctx, conn)
	}
	if err == nil && w.o.OnConnect != nil {
		err = w.o.OnConnect(ctx, id)
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return &watchedConn{mysqlConn: conn.(mysqlConn), id: id, onClose: w.o.OnClose}, nil
}

// mysqlConn is what the driver's connections can do and database/sql asks for.
type mysqlConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.NamedValueChecker
	driver.Pinger
	driver.QueryerContext
	driver.SessionResetter
	driver.Validator
}

type watchedConn struct {
	mysqlConn
	id      int64
	onClose func(int64)
}

// Close closes the connection and then, never before, reports that it is gone.
func (c *watchedConn) Close() error {
	err := c.mysqlConn.Close()
	if c.onClose != nil {
		c.onClose(c.id)
	}
	return err
}

func connectionID(ctx context.Context, conn driver.Conn) (int64, error) {
	rows, err := conn.(driver.QueryerContext).QueryContext(ctx, "SELECT CONNECTION_ID()", nil)
	if err != nil {
		return 0, err
	}
	defer func() { _ = rows.Close() }()
	v := make([]driver.Value, 1)
	if err := rows.Next(v); err != nil {
		return 0, err
	}
	switch id := v[0].(type) {
	case int64:
		return id, nil
	case uint64:
		return int64(id), nil
	case []byte:
		var n int64
		_, err := fmt.Sscan(string(id), &n)
		return n, err
	}
	return 0, fmt.Errorf("connection id of type %T", v[0])
}
