// Package secret owns the secrets of projects: values that tasks use and that nobody sees again.
//
// It keeps them sealed (kit/seal), counts their versions and says who changed them and when. It gives a value to nobody
// but the renderer of tasks, at the moment of a grant, and shows none on any page, in any answer or in the audit trail.
// It refuses values too short to be masked, and to delete what a job names. Pages and the API drive it.
package secret
