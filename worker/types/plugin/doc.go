// Package plugin runs the types of plug-ins: programs in any language that the worker starts from folders and keeps.
//
// It owns the manifest, the loader with its virtual environments, the pool of processes of each plug-in and the
// conversation with them, JSON-RPC 2.0, one object a line, over their standard input and output. A process works at one
// task at a time; whatever becomes of it touches no neighbour: it is ended with all that it started and another takes its
// place. It refuses what its manifest does not say, fetches nothing from the network, and knows neither queue nor journal:
// the Node calls it like any other type. docs/plugins.md is written for those who make plug-ins.
package plugin
