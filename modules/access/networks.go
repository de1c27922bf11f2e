package access

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/worker/protocol/netguard"
)

// SetNetworks says which private networks and loopback addresses the tasks of a project may connect to: addresses, networks
// such as 10.1.0.0/16, and the words of netguard. It counts for what is given to a worker from then on. The caller asks for
// the right to. It returns the project as it is then.
func (a *Access) SetNetworks(ctx context.Context, project domain.ID, networks []string) (Project, error) {
	networks, err := cleanNetworks(networks)
	if err != nil {
		return Project{}, err
	}
	var p Project
	err = a.store.Tx(ctx, func(ctx context.Context) error {
		was, err := a.store.LockProject(ctx, project)
		if err != nil {
			return err
		}
		p = was
		p.Networks = networks
		if slices.Equal(was.Networks, networks) {
			return nil
		}
		return a.setNetworks(ctx, was, networks)
	})
	return p, err
}

// setNetworks writes them with their line in the trail.
func (a *Access) setNetworks(ctx context.Context, was Project, networks []string) error {
	if err := a.store.SetNetworks(ctx, was.ID, networks); err != nil {
		return err
	}
	return a.Record(ctx, Entry{ProjectID: was.ID, Action: string(domain.ActProjectNetworks), Object: "project/" + was.Name,
		Before: "networks: " + strings.Join(was.Networks, " "), After: "networks: " + strings.Join(networks, " "), Allowed: true})
}

// cleanNetworks judges an allow-list, each entry by itself, and leaves out what stands in it twice.
func cleanNetworks(given []string) ([]string, error) {
	out := []string{}
	for _, entry := range given {
		entry = strings.TrimSpace(entry)
		if _, err := netguard.ParseAllow([]string{entry}); err != nil {
			return nil, badNetwork(entry, err)
		}
		if !slices.Contains(out, entry) {
			out = append(out, entry)
		}
	}
	if len(out) > netguard.MaxAllow {
		return nil, domain.Fail(domain.Invalid, "at most %d networks", netguard.MaxAllow).At("networks").Coded("access.network_many", "max", strconv.Itoa(netguard.MaxAllow))
	}
	return out, nil
}

func badNetwork(entry string, err error) error {
	id := "access.network_entry"
	switch {
	case errors.Is(err, netguard.ErrPublic):
		id = "access.network_public"
	case errors.Is(err, netguard.ErrNever):
		id = "access.network_never"
	}
	return domain.Fail(domain.Invalid, "%v", err).At("networks").Coded(id, "entry", head(entry, 60))
}
