// Package runner runs one task's processes and sees to it that none of them outlives the task.
//
// It owns process groups, deadlines, dump signals, the watchdog beside the worker, and the capture of output. A task
// runs in a session of its own and carries its attempt in its environment (Marker); the worker is the subreaper of all
// it starts, so that whatever a task leaves behind comes back to it as a child and is killed at the task's end. When
// the worker itself is killed or frozen, the watchdog does the same from outside; at the next boot KillMarked does it
// for what may still be left (a machine where both were killed).
//
// What it can't see: a process that both leaves the task's session and clears its environment, once its parents are
// gone. Processes of another user (sudo) can't be killed either; they are named in the result's message.
//
// It refuses to know what a task is for: no templates, no retries, no protocol. It runs on Linux only.
package runner
