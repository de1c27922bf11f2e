// Package cli is the commands of the ax binary besides the server itself. They are
// thin: they call the HTTP API through app/client, or judge offline with the code
// that the server uses. It owns flags, what is printed and the exit codes; it keeps
// nothing and decides nothing.
package cli
