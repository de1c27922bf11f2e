// Package protocol is the wire contract between the center, its workers and
// external executors: the messages, the Redis keys, the Lua, the codec, and the
// signature and bodies of the executors' HTTP, each said here once.
//
// It imports the standard library only and does no I/O. Instants are Unix
// milliseconds. Everything on the wire may be lost, late or repeated: a message
// gives a hint or carries a copy; the truth is the database and, for what ran on
// a worker, its journal. Fields may be added; none changes its meaning.
package protocol
