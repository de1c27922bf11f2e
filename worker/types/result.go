package types

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// ResultVariable names the variable in which a task in a process of its own finds the file for its result.
const ResultVariable = "AX_RESULT_FILE"

// TakeResult reads what a task that has ended wrote into the file for its result, and removes the file. No file, or
// nothing in it, is no result. The error says in words what is wrong with it: a result is a JSON object of at most
// ResultMax bytes. What the task put in the file's place, such as a link, is not followed.
func TakeResult(path string) (json.RawMessage, error) {
	if path == "" {
		return nil, nil
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	defer os.RemoveAll(path) // a folder too
	if err != nil {
		return nil, fmt.Errorf("the file of its result cannot be read: %w", err)
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.New("what it left as the file of its result is no ordinary file")
	}
	text, err := io.ReadAll(io.LimitReader(f, ResultMax+1))
	if err != nil {
		return nil, fmt.Errorf("the file of its result cannot be read: %w", err)
	}
	return judgeResult(text)
}

func judgeResult(text []byte) (json.RawMessage, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	switch trimmed := bytes.TrimSpace(text); {
	case len(text) > ResultMax:
		return nil, fmt.Errorf("its result is larger than %d KB; put large data into a file and pass its name", ResultMax>>10)
	case len(trimmed) == 0:
		return nil, nil
	case trimmed[0] != '{' || !utf8.Valid(trimmed) || !json.Valid(trimmed):
		return nil, errors.New(`its result is no JSON object such as {"rows": 12}`)
	default:
		return trimmed, nil
	}
}
