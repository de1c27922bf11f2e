package stores

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// onDisk runs the server given by its arguments with its data on a file system of its own, which nobody else sees and
// which is gone with the server.
const onDisk = `set -e
disk=$1; size=$2; seed=$3; shift 3
mkdir -p "$disk"; mount -t tmpfs -o size="$size" tmpfs "$disk"
cp -a "$seed/." "$disk/"
exec "$@"`

// HasDisk reports whether this process may give a server a file system of its own, which takes root and the right to
// mount.
func HasDisk() bool {
	return exec.Command("unshare", "-m", "sh", "-c", "mount -t tmpfs -o size=1m tmpfs /mnt").Run() == nil
}

// Disk is the file system of one server. Its methods are for one goroutine at a time.
type Disk struct {
	server *Server
	path   string // as the server sees it
}

// MariaDBOnDisk is MariaDBWith on a file system of so many bytes. Killing the server loses its data.
func MariaDBOnDisk(parent string, size int64, options ...string) (*Server, *Disk, error) {
	server, ok := find("mariadbd")
	if !ok {
		return nil, nil, fmt.Errorf("mariadbd is not installed; e2e/setup/install.sh brings it")
	}
	path := ""
	s, addr, err := launch(parent, "mariadb", func(dir, port string) ([]string, error) {
		argv, err := prepareMariaDB(server, dir, port)
		if err != nil {
			return nil, err
		}
		path = filepath.Join(dir, "disk")
		argv = append(append(argv, "--datadir="+path), options...)
		return append([]string{"unshare", "-m", "sh", "-c", onDisk, "sh", path, fmt.Sprint(size), filepath.Join(dir, "data")}, argv...), nil
	}, greeted)
	if err != nil {
		return nil, nil, err
	}
	s.URL = "mysql://ax:ax@" + addr + "/"
	return s, &Disk{s, path}, nil
}

// filler is the file that takes all that is free.
func (d *Disk) filler() string { return fmt.Sprintf("/proc/%d/root%s/filler", d.server.PID(), d.path) }

// Fill takes all that is free.
func (d *Disk) Fill() error { return fill(d.filler()) }

// fill writes a file until its disk is full.
func fill(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	block := make([]byte, 64<<10)
	for err == nil {
		_, err = f.Write(block)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		return errors.Join(fmt.Errorf("the disk is not full: %w", err), f.Close())
	}
	return ignoreFull(f.Close())
}

// Clear gives back what Fill took.
func (d *Disk) Clear() error { return os.Remove(d.filler()) }

// Volume is a small file system of this machine. Its methods are for one goroutine at a time.
type Volume struct{ path string }

// Mount puts an empty file system of so many bytes at a folder, until Unmount. Whoever may not do that gets an error
// that wraps fs.ErrPermission.
func Mount(path string, size int64) (*Volume, error) {
	if err := syscall.Mount("tmpfs", path, "tmpfs", 0, fmt.Sprintf("size=%d", size)); err != nil {
		return nil, fmt.Errorf("mount a file system at %s: %w", path, err)
	}
	return &Volume{path}, nil
}

// Fill takes all that is free.
func (v *Volume) Fill() error { return fill(v.filler()) }

// Clear gives back what Fill took.
func (v *Volume) Clear() error { return os.Remove(v.filler()) }

// Unmount takes it away with all that is in it, also from those who use it.
func (v *Volume) Unmount() error { return syscall.Unmount(v.path, syscall.MNT_DETACH) }

func (v *Volume) filler() string { return filepath.Join(v.path, "filler") }

func ignoreFull(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, io.ErrShortWrite) {
		return nil
	}
	return err
}
