//go:build unix

package sdk

import (
	"errors"
	"os"
	"syscall"
)

// lockFile takes the file for this process, until it is closed or the process ends.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(errors.New("another process uses it: give each executor a journal of its own"), f.Close())
	}
	return f, nil
}
