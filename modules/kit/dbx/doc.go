// Package dbx opens AX's database and carries the transaction in the context.
//
// It owns: the two drivers and their settings, the transaction that every store
// joins (so that what belongs together commits together across modules), the
// fence that a transaction must pass, the mapping of driver errors to domain
// kinds, running the migrations, and one helper for each difference between the
// dialects. It knows no table of AX. Stores use Q(ctx) and Tx(ctx); nothing
// else opens a connection.
package dbx
