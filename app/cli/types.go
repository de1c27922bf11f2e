package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
)

func (p *process) types() *cobra.Command {
	return &cobra.Command{Use: "types [TYPE]", Short: "list the executor types that are announced, or what one of them takes", Args: cobra.MaximumNArgs(1),
		Long: `Lists the types that workers and executors which are up announce: those that AX knows itself, and those of plug-ins
and external executors. With a TYPE, what may stand below exec of a job of that type.`,
		RunE: p.do(func(ctx context.Context, args []string) error {
			if len(args) == 1 {
				return p.oneType(ctx, args[0])
			}
			return p.list(ctx, listing{name: "types", head: []string{"TYPE", "VERSION", "BY", "TARGETS", "KEYS"}, cells: func(r row) []string {
				return []string{r.text("type"), r.text("version"), typeBy(r), r.text("targets"), keysOfType(r)}
			}})
		})}
}

// notePlugins says beside the list of workers which plug-ins of one are of no use now.
func (p *process) notePlugins(r row) {
	for _, one := range r.rows("plugins") {
		switch one.text("state") {
		case "failed":
			p.note("ax: %s: plug-in %s can't be used: %s\n", printable(r.text("name")), printable(one.text("name")), printable(one.text("fault")))
		case "loading":
			p.note("ax: %s: plug-in %s is being loaded\n", printable(r.text("name")), printable(one.text("name")))
		}
	}
}

// typeBy is who runs a type.
func typeBy(r row) string {
	if plugin := r.text("plugin"); plugin != "" {
		return "plug-in " + plugin
	}
	if r.text("builtIn") == "true" {
		return "AX"
	}
	return ""
}

// keysOfType names what a type takes, with a star where it must be there.
func keysOfType(r row) string {
	if r["params"] == nil {
		return "(free)"
	}
	var out []string
	for _, one := range r.rows("params") {
		name := one.text("name")
		if one.text("required") == "true" {
			name += "*"
		}
		out = append(out, name)
	}
	return strings.Join(out, " ")
}

// oneType prints what one type takes.
func (p *process) oneType(ctx context.Context, name string) error {
	c, err := p.connect()
	if err != nil {
		return err
	}
	got, err := gather(ctx, c, listing{name: "types", query: url.Values{}})
	if err != nil {
		return err
	}
	var found json.RawMessage
	var r row
	for _, doc := range got.rows {
		one, err := decode(doc)
		if err != nil {
			return err
		}
		if one.text("type") == name {
			found, r = doc, one
		}
	}
	switch {
	case r == nil:
		return fmt.Errorf("nobody that is up announces the type %q: ax types lists those that are announced", name)
	case p.json:
		return p.document(found)
	}
	said := []string{strings.TrimSpace(r.text("type") + " " + r.text("version"))}
	if by := typeBy(r); by != "" {
		said = append(said, by)
	}
	if err := p.printf("%s, on %s\n", printable(strings.Join(said, ", ")), printable(r.text("targets"))); err != nil {
		return err
	}
	if about := r.text("about"); about != "" {
		if err := p.printf("%s\n", printable(about)); err != nil {
			return err
		}
	}
	switch {
	case r["params"] == nil:
		p.note("it says nothing of its settings and takes whatever a job gives\n")
		return nil
	case len(r.rows("params")) == 0:
		p.note("it takes no settings\n")
		return nil
	}
	return p.table([]string{"KEY", "KIND", "REQUIRED", "ELSE", "CHOICES", "ABOUT"}, paramRows(r))
}

// paramRows are the keys of a type.
func paramRows(r row) [][]string {
	var out [][]string
	for _, one := range r.rows("params") {
		must := ""
		if one.text("required") == "true" {
			must = "yes"
		}
		out = append(out, []string{one.text("name"), one.text("kind"), must, one.text("default"), one.text("choices"), one.text("about", "label")})
	}
	return out
}
