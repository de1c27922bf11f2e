// Package crash ends or freezes this process at a named point of its work, so that
// tests can show that a process may die between any two lines and nothing is lost,
// done twice or told wrongly.
//
// It owns the names of the points and what the chosen one does. It refuses everything
// but one order, taken once from the environment at the start: without [Variable] no
// point does anything, and passing one costs the reading of one pointer. The roots arm
// it; whatever has a moment worth dying at calls At.
package crash
