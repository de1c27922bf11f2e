//go:build !unix

package sdk

import "os"

// lockFile only opens the file: this system has no lock that the standard library reaches.
func lockFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
}
