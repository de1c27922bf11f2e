package center

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/axsched/ax/config"
	"github.com/axsched/ax/modules/kit/seal"
)

// openSeal is what keeps secrets of this center unreadable at rest. In mode all, which has its data folder to itself, a
// key is made there at the first start; where none is given otherwise, no secret can be kept and everything else works.
func openSeal(c config.Config) (*seal.Keeper, error) {
	file, source := c.Secrets.KeyFile, "secrets.key_file"
	switch {
	case c.Secrets.Key != "":
		k, err := seal.Open([]byte(c.Secrets.Key))
		if err != nil {
			return nil, fmt.Errorf("secrets.key: %w", err)
		}
		return k, nil
	case file == "" && c.Mode == config.ModeAll:
		file, source = filepath.Join(c.Data, "secrets.key"), "the key of the data folder"
		if err := makeKeyFile(file); err != nil {
			return nil, fmt.Errorf("%s: %w", source, err)
		}
	case file == "":
		return &seal.Keeper{}, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, fmt.Errorf("%s: %s is empty; make a key with: openssl rand -hex 32", source, file)
	}
	k, err := seal.Open(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", source, file, err)
	}
	if info, err := os.Stat(file); err == nil && info.Mode().Perm()&0o007 != 0 {
		slog.Warn("everybody on this machine may read the key of the secrets; chmod 600 mends it", "file", file, "mode", info.Mode().Perm())
	}
	return k, nil
}

// makeKeyFile makes a key where there is none. The file is whole or not there.
func makeKeyFile(file string) error {
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), "secrets.key.*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(seal.MakeKey())
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), file); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	dir, err := os.Open(filepath.Dir(file))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
