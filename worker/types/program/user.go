package program

import (
	"fmt"
	"os"
	"os/user"
	"slices"
	"strconv"

	"github.com/axsched/ax/worker/runner"
)

// Users are the accounts whose rights a worker lets jobs ask for, by its set-up. The zero value lets none.
type Users struct{ allowed []string }

// NewUsers allows these.
func NewUsers(names []string) Users { return Users{slices.Clone(names)} }

// Find returns the account that a job asks for, and what its environment says of it. Nil with "" and where the worker
// itself runs as that account: nothing has to be changed.
func (u Users) Find(name string) (*runner.User, map[string]string, error) {
	if name == "" {
		return nil, nil, nil
	}
	if !slices.Contains(u.allowed, name) {
		return nil, nil, fmt.Errorf("exec.user: this worker lets no job run as %s: its worker.users does not name it", name)
	}
	found, err := user.Lookup(name)
	if err != nil {
		return nil, nil, fmt.Errorf("exec.user: %w", err)
	}
	env := map[string]string{"HOME": found.HomeDir, "USER": found.Username, "LOGNAME": found.Username}
	uid, err := id(found.Uid)
	if err != nil {
		return nil, nil, err
	}
	if uint32(os.Geteuid()) == uid {
		return nil, env, nil
	}
	if os.Geteuid() != 0 {
		return nil, nil, fmt.Errorf("exec.user: this worker does not run as root, so it cannot run a task as %s", name)
	}
	gid, err := id(found.Gid)
	if err != nil {
		return nil, nil, err
	}
	out := &runner.User{UID: uid, GID: gid}
	groups, err := found.GroupIds()
	if err != nil {
		return nil, nil, fmt.Errorf("exec.user: the groups of %s: %w", name, err)
	}
	for _, g := range groups {
		n, err := id(g)
		if err != nil {
			return nil, nil, err
		}
		out.Groups = append(out.Groups, n)
	}
	return out, env, nil
}

func id(text string) (uint32, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("exec.user: the system's number %q of an account is none", text)
	}
	return uint32(n), nil
}
