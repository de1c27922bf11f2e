package domain

import "time"

// Secret is a value of a project that tasks may use and nobody sees: without the value, which only the moment of a
// grant opens.
type Secret struct {
	ID        ID
	ProjectID ID
	Name      string
	Version   int // 1 for the first value; raised by each that takes its place
	CreatedBy string
	CreatedAt time.Time
	UpdatedBy string
	UpdatedAt time.Time
}

// SecretKey names a secret of a project.
type SecretKey struct {
	Project ID
	Name    string
}

// Key names the secret.
func (s Secret) Key() SecretKey { return SecretKey{s.ProjectID, s.Name} }
