package journal

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ErrInUse is wrapped by Open's error when another live process holds the data directory.
var ErrInUse = errors.New("data directory is in use")

// identity is what makes a data directory one worker: a random name for life, and how often it was opened.
type identity struct {
	UID  string `json:"uid"`
	Boot int64  `json:"boot"`
	// Lock is the lock file of the last life that had the directory for certain; a copy has another. "" = not known.
	Lock string `json:"lock,omitempty"`
}

// lockMark tells a lock file from every other, also those of other machines and of other runs of this kernel; "" where
// the system does not say.
func lockMark(lock *os.File) string {
	var st unix.Stat_t
	kernel, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil || unix.Fstat(int(lock.Fd()), &st) != nil {
		return ""
	}
	return fmt.Sprintf("%s %d %d", strings.TrimSpace(string(kernel)), st.Dev, st.Ino)
}

// lockPatience is how long a held lock is tried again: a process that was killed as it started a task has left a child that
// holds all its files, and the lock with them, until it has become that task, a moment on a busy machine.
const lockPatience = 2 * time.Second

// tryLock takes the lock, or says why not.
func tryLock(f *os.File) error {
	const between = 50 * time.Millisecond
	for end := time.Now().Add(lockPatience); ; time.Sleep(between) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) || time.Now().After(end) {
			return err
		}
	}
}

// lockDir takes the exclusive lock of dir. The kernel frees it when the process ends, however it ends.
func lockDir(dir string) (*os.File, error) {
	path := filepath.Join(dir, "lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock of data directory %s: %w", dir, err)
	}
	if err := tryLock(f); err != nil {
		holder, _ := os.ReadFile(path)
		_ = f.Close()
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock data directory %s: %w", dir, err)
		}
		return nil, fmt.Errorf("%w: %s is held by another AX process (pid %s); stop that one, or give this one a --data of its own",
			ErrInUse, dir, strings.TrimSpace(string(holder)))
	}
	if err := f.Truncate(0); err == nil {
		host, _ := os.Hostname()
		_, _ = f.WriteAt(fmt.Appendf(nil, "%d on host %s\n", os.Getpid(), host), 0) // for people only: the lock itself is the kernel's
	}
	return f, nil
}

// nextIdentity reads the identity of dir, or makes one, raises the boot number, above boot if that was another uid's, and
// returns only when that is durable. doubt says that the life before held another lock than this one, which proves
// nothing about its end then; it lasts, over any number of starts, until own was called.
func nextIdentity(dir, lock, uid string, boot int64) (next identity, doubt bool, err error) {
	id, err := readIdentity(dir)
	if err != nil {
		return identity{}, false, err
	}
	if doubt = id.Boot > 0 && (lock == "" || id.Lock != lock); !doubt {
		id.Lock = lock
	}
	if uid != id.UID {
		id.Boot = max(id.Boot, boot)
	}
	id.Boot++
	return id, doubt, id.keep(dir)
}

// own notes that the life with this lock has dir for certain.
func own(dir, lock string) error {
	id, err := readIdentity(dir)
	if err != nil || id.Lock == lock {
		return err
	}
	id.Lock = lock
	return id.keep(dir)
}

// keep writes the identity and returns when that is durable.
func (id identity) keep(dir string) error {
	data, err := json.Marshal(id)
	if err != nil {
		return err
	}
	return replaceFile(filepath.Join(dir, identityName), append(data, '\n'))
}

const identityName = "identity"

func readIdentity(dir string) (identity, error) {
	path := filepath.Join(dir, identityName)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		var raw [16]byte
		if _, err := rand.Read(raw[:]); err != nil {
			return identity{}, fmt.Errorf("make a worker uid: %w", err)
		}
		return identity{UID: hex.EncodeToString(raw[:])}, nil
	}
	if err != nil {
		return identity{}, fmt.Errorf("read the worker's identity: %w", err)
	}
	var id identity
	if err := json.Unmarshal(data, &id); err != nil || len(id.UID) != 32 || id.Boot < 1 {
		return identity{}, fmt.Errorf("the worker's identity file %s is damaged; restore it, or start with an empty "+
			"--data once the center shows this worker as lost", path)
	}
	return id, nil
}

// replaceFile puts data at path such that a crash leaves either the old content or the new, never a mixture.
func replaceFile(path string, data []byte) error { return replaceWith(path, data, 0) }

// replaceWith is replaceFile where the disk has that many bytes of room beside data; the file keeps them, if the file
// system can do that.
func replaceWith(path string, data []byte, room int64) error {
	tmp := path + ".tmp"
	err := fill(tmp, data, room)
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		_ = os.Remove(tmp) // a full disk needs its room
	} else {
		err = syncDir(filepath.Dir(path))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// fill makes the file at path hold data, and returns when that is on the disk.
func fill(path string, data []byte, room int64) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && room > 0 {
		err = reserve(int(f.Fd()), int64(len(data))+room)
	}
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// reserve takes so much of the disk for a file, whose length stays. A file system that cannot do that is no error.
func reserve(fd int, size int64) error {
	for {
		switch err := unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, 0, size); {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
			return &fs.PathError{Op: "reserve room in", Path: "the journal", Err: err}
		default:
			return nil
		}
	}
}

// syncDir makes created and renamed names in dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	return err
}
