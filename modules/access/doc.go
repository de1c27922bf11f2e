// Package access owns who people are and what they may do: local accounts, their
// sessions and API tokens, memberships, projects as the domains of rights, and
// the audit trail that every change of AX is written into.
//
// It refuses to know what is protected: jobs and instances ask it through ports
// of their own. access/policy turns memberships into answers (casbin lives there
// alone), access/store keeps the rows, access/web is its pages and API. There is
// no default password: see Start.
package access
