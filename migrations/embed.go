// Package migrations holds the numbered SQL that makes and changes AX's tables.
//
// One text serves MySQL, MariaDB and SQLite: what only the MySQL family needs
// stands in executable comments, which SQLite passes over. A migration is
// compatible one version back, is never edited once it has landed, and is run by
// kit/dbx under goose's table lock.
package migrations

import "embed"

// FS holds the *.sql files.
//
//go:embed *.sql
var FS embed.FS
