// Package netguard judges the addresses that AX connects to because a person typed a URL: those of http jobs, of external
// executors, of hooks.
//
// It owns which addresses are refused always (those at which clouds serve credentials, link-local and multicast ones,
// AX's own stores), which only a project's allow-list opens (private networks and loopback), and the transport that asks it.
// An address is judged when it is about to be connected to, so neither a name that changes its address nor a redirect
// gets around it. It refuses to know projects and settings: whoever makes a Policy does. Standard library only; everything
// is safe for concurrent use.
package netguard
