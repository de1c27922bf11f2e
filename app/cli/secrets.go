package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

func (p *process) secrets() *cobra.Command {
	cmd := &cobra.Command{Use: "secret", Short: "secrets of projects: values that tasks use and nobody sees", Args: cobra.NoArgs}
	cmd.AddCommand(p.listSecrets(), p.setSecret(), p.removeSecret())
	return cmd
}

func (p *process) listSecrets() *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "list secrets, without their values", Args: cobra.NoArgs}
	var project string
	cmd.Flags().StringVar(&project, "project", "", "only of this project")
	cmd.RunE = p.do(func(ctx context.Context, _ []string) error {
		head := []string{"SECRET", "VERSION", "JOBS", "CHANGED BY", "CHANGED"}
		return p.list(ctx, listing{name: "secrets", query: url.Values{"project": {project}}, head: head, cells: func(r row) []string {
			return []string{r.text("name"), r.text("version"), r.text("jobs"), r.text("updatedBy"), p.when(r.moment("updatedAt"))}
		}})
	})
	return cmd
}

func secretPath(name string) string { return "/api/v1/secrets/" + url.PathEscape(name) }

func (p *process) setSecret() *cobra.Command {
	var reason string
	cmd := &cobra.Command{Use: "set SECRET", Short: "make a secret, or give one a new value", Args: cobra.ExactArgs(1), Example: "ax secret set warehouse_password",
		Long: `Makes a secret, or gives one a new value. SECRET is [project/]name. The value is read from the standard input, one line
end at its end left out, or asked for where that is a terminal; it never stands on the command line, where every user of the
machine sees it. Tasks granted from then on get it.`}
	cmd.Flags().StringVar(&reason, "reason", "", "kept in the audit trail")
	cmd.RunE = p.do(func(ctx context.Context, args []string) error {
		for what, text := range map[string]string{"the name of the secret": args[0], "--reason": reason} {
			if err := plainText(what, text); err != nil {
				return err
			}
		}
		c, err := p.connect()
		if err != nil {
			return err
		}
		value, err := p.readSecret(args[0])
		if err != nil {
			return err
		}
		doc, err := c.Send(ctx, http.MethodPut, secretPath(args[0]), map[string]any{"value": value, "reason": reason})
		if err != nil {
			return err
		}
		if p.json {
			return p.document(doc)
		}
		r, err := decode(doc)
		if err != nil {
			return err
		}
		return p.printf("%s: version %s\n", printable(r.text("name")), r.text("version"))
	})
	return cmd
}

// maxSecretInput is more than a value may have, so that the server says what the limit is.
const maxSecretInput = 1 << 20

// readSecret reads a value without showing it.
func (p *process) readSecret(name string) (string, error) {
	if f, ok := p.in.(*os.File); ok {
		if state, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS); err == nil {
			return p.askSecret(name, f, *state)
		}
	}
	text, err := io.ReadAll(io.LimitReader(p.in, maxSecretInput))
	if err != nil {
		return "", fmt.Errorf("reading the value from the standard input: %w", err)
	}
	value := strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
	if value == "" {
		return "", errors.New("the standard input holds no value: printf %s VALUE | ax secret set NAME, or ax secret set NAME < FILE")
	}
	return value, nil
}

// askSecret reads a line of a terminal that shows none of it meanwhile.
func (p *process) askSecret(name string, f *os.File, was unix.Termios) (string, error) {
	mute := was
	mute.Lflag &^= unix.ECHO
	if err := unix.IoctlSetTermios(int(f.Fd()), unix.TCSETS, &mute); err != nil {
		return "", fmt.Errorf("the terminal cannot be kept from showing the value: %w", err)
	}
	defer func() { _ = unix.IoctlSetTermios(int(f.Fd()), unix.TCSETS, &was) }()
	_, _ = fmt.Fprintf(p.err, "value of %s (not shown): ", printable(name))
	line, err := bufio.NewReader(f).ReadString('\n')
	_, _ = fmt.Fprintln(p.err)
	if err != nil && line == "" {
		return "", fmt.Errorf("no value was typed: %w", err)
	}
	return strings.TrimRight(line, "\r\n"), nil
}

func (p *process) removeSecret() *cobra.Command {
	return &cobra.Command{Use: "rm SECRET", Short: "delete a secret that no job names", Args: cobra.ExactArgs(1), Example: "ax secret rm warehouse_password",
		RunE: p.do(func(ctx context.Context, args []string) error {
			if strings.TrimSpace(args[0]) == "" {
				return usage("the name of the secret is empty: write [project/]name")
			}
			if err := plainText("the name of the secret", args[0]); err != nil {
				return err
			}
			return p.change(ctx, http.MethodDelete, secretPath(args[0]), args[0]+": deleted\n")
		})}
}
