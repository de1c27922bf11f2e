// Package conform plays a center against an executor of any make, and tells where it does not keep docs/protocol.md.
//
// It owns a listener for the executor's calls, the attempts that it sends, and the cases. It needs neither server nor
// database, stores nothing, and judges only what can be seen from outside: answers, calls and their moments. The executor
// offers a type, echo, that returns its parameters as its result; where there is a parameter sleep it takes so many seconds. What an
// executor does not offer (it never claims, sends no heartbeats, does not sleep) is "not applicable", with the reason.
package conform
