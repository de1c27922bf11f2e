// Package transport carries the messages of worker/protocol over Redis and asynq.
//
// It owns how a message travels: connections and what is asked of the server at the start, the in-process Redis of
// mode all, the streams, the heartbeat's script, asynq's queues and the nudges. It refuses to decide anything: what a
// message means and whether it is sent again is the business of its callers, a worker's Node and the center's roots.
// asynq carries and never executes: its handler hands a message over and is done, so that none of asynq's own leases,
// time-outs and retries ever touches a task.
//
// Everything here may fail or lose its data at any moment. Each call takes a context and gives up with it.
package transport
