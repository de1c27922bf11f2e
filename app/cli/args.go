package cli

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// examples is one whole call of each command that wants something, by the command's path.
func examples() map[string]string {
	return map[string]string{
		"ax validate":         "ax validate jobs/",
		"ax apply":            "ax apply -f jobs/",
		"ax pause":            "ax pause order_stat_daily",
		"ax resume":           "ax resume order_stat_daily",
		"ax delete":           "ax delete order_stat_daily",
		"ax trigger":          "ax trigger order_stat_daily --biz-date 2026-02-03",
		"ax instance":         "ax instance 411052400640000001",
		"ax logs":             "ax logs 411052400640000001",
		"ax why":              "ax why 411052400640000001",
		"ax kill":             `ax kill 411052400640000001 --reason "it reads the wrong table"`,
		"ax rerun":            `ax rerun 411052400640000001 --reason "the disk was full"`,
		"ax release":          `ax release 411052400640000001 --reason "the table was checked by hand"`,
		"ax backfill":         "ax backfill order_stat_daily --from 2026-02-01 --to 2026-02-28",
		"ax backfill show":    "ax backfill show 411052400640000007",
		"ax backfill items":   "ax backfill items 411052400640000007 --state failed",
		"ax backfill pause":   `ax backfill pause 411052400640000007 --reason "the month is being closed"`,
		"ax backfill resume":  "ax backfill resume 411052400640000007",
		"ax backfill stop":    `ax backfill stop 411052400640000007 --reason "the wrong month"`,
		"ax settle":           `ax settle 411052400640000001 --as rerun --reason "the bank has booked nothing"`,
		"ax plugin check":     "ax plugin check plugins/acme-table",
		"ax pools set":        "ax pools set db 3",
		"ax projects allow":   "ax projects allow default loopback 10.1.0.0/16",
		"ax pools delete":     "ax pools delete db",
		"ax incidents close":  `ax incidents close 411052400640000021 --reason "the machine was replaced"`,
		"ax calendars show":   "ax calendars show cn",
		"ax calendars apply":  "ax calendars apply -f cn-2026.ics --name cn",
		"ax calendars set":    `ax calendars set cn 2026-05-01 holiday "Labour Day"`,
		"ax calendars delete": "ax calendars delete cn",
		"ax next":             `ax next --tz Asia/Shanghai -- "0 2 * * *"`,
		"ax ledger":           "ax ledger --from 2026-02-03 --to 2026-02-04",
		"ax conform":          "ax conform http://127.0.0.1:9000/run --executor default/billing",
	}
}

// guesses are words that people try for a command of another name.
func guesses() map[string][]string {
	return map[string][]string{
		"ax apply": {"import", "create", "add", "deploy"}, "ax jobs": {"list", "ls", "tasks"}, "ax delete": {"rm", "remove"}, "ax pause": {"disable", "stop"},
		"ax resume": {"enable", "unpause"}, "ax trigger": {"run", "fire", "exec", "start"}, "ax instances": {"runs", "ps", "history"}, "ax instance": {"show", "get", "describe", "status"},
		"ax logs": {"tail", "output"}, "ax why": {"explain"}, "ax kill": {"cancel", "stop", "abort"}, "ax rerun": {"retry", "restart"}, "ax workers": {"nodes", "executors"},
		"ax incidents": {"alerts"}, "ax validate": {"check", "lint"}, "ax next": {"cron", "preview"}, "ax calendars": {"holidays"},
	}
}

// explain has every command say in plain words which of its arguments is missing or too many, and give an example.
func explain(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		explain(sub)
	}
	path := cmd.CommandPath()
	cmd.SuggestFor, cmd.SuggestionsMinimumDistance = guesses()[path], nearly
	if example := examples()[path]; example != "" {
		cmd.Example = "  " + example
	}
	check := cmd.Args
	if check == nil {
		return
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		err := check(cmd, args)
		var own *failure
		if err == nil || errors.As(err, &own) {
			return err
		}
		return wrongArguments(cmd, args)
	}
}

// nearly is how many letters a word may be off a command that is taken to be meant.
const nearly = 2

// wrongArguments says what is wrong with the arguments of a command that it does not take.
func wrongArguments(cmd *cobra.Command, args []string) error {
	wants := places(cmd.Use)
	if len(wants) == 0 && cmd.HasAvailableSubCommands() && len(args) > 0 {
		return unknown(cmd, args[0])
	}
	return miscounted(cmd.CommandPath(), args, wants)
}

// miscounted says which arguments are missing or too many where others are given than a command wants. Those in brackets
// may be left out, and the last may be given several times where it ends in dots.
func miscounted(command string, args, wants []string) error {
	required := slices.DeleteFunc(slices.Clone(wants), func(w string) bool { return strings.HasPrefix(w, "[") })
	switch {
	case len(args) < len(required):
		missing, verb := required[len(args):], "is"
		if len(missing) > 1 {
			verb = "are"
		}
		return usage("%s: %s %s missing", command, strings.Join(missing, " and "), verb)
	case len(wants) == 0:
		return usage("%s takes no argument, and %q is one", command, args[0])
	case len(args) > len(wants):
		return usage("%s takes %s, and %q is one argument too many: what holds blanks stands in quotes", command, strings.Join(wants, " "), args[len(wants)])
	}
	return usage("%s takes %s", command, strings.Join(wants, " "))
}

// optionalFlag is a flag in the line of a command's usage that may be left out.
var optionalFlag = regexp.MustCompile(`\[-[^\]]*\]`)

// places are the arguments in the line of a command's usage, without flags and their values.
func places(use string) []string {
	words := strings.Fields(optionalFlag.ReplaceAllString(use, ""))
	var out []string
	for i := 1; i < len(words); i++ {
		switch w := words[i]; {
		case w == "--":
		case strings.HasPrefix(w, "-"):
			i++ // its value
		default:
			out = append(out, w)
		}
	}
	return out
}

// unknown says that a command, or ax itself, has no command of a name, and which may be meant.
func unknown(cmd *cobra.Command, name string) error {
	near := slices.Compact(cmd.SuggestionsFor(name))
	all := fmt.Sprintf("%q lists them", cmd.CommandPath()+" --help")
	switch {
	case len(near) > 0:
		return usage("%s has no command %q; did you mean %s? %s", cmd.CommandPath(), name, strings.Join(near, " or "), all)
	case cmd.HasParent():
		var names []string
		for _, sub := range cmd.Commands() {
			names = append(names, sub.Name())
		}
		return usage("%s has no command %q: it has %s", cmd.CommandPath(), name, strings.Join(names, ", "))
	case slices.Contains(servers, name):
		return usage("ax has no command %q: without a command it is the server, of all parts or of one: ax --mode=all|center|web|scheduler|broker|worker", name)
	}
	return usage("ax has no command %q: %s", name, all)
}

// servers are words that people try for the server.
var servers = []string{"server", "serve", "daemon", "up", "all", "center", "web", "scheduler", "broker", "worker"}

// firstWord is the first argument that is no flag, "" where there is none.
func firstWord(args []string) string {
	for _, a := range args {
		if !strings.HasPrefix(a, "-") {
			return a
		}
	}
	return ""
}

// helping is the command help.
func helping(root *cobra.Command) *cobra.Command {
	return &cobra.Command{Use: "help [COMMAND]", Short: "show what a command does and takes", RunE: func(_ *cobra.Command, args []string) error {
		cmd, rest, err := root.Find(args)
		if err != nil || len(rest) > 0 && cmd.HasAvailableSubCommands() {
			return unknown(cmd, firstWord(rest))
		}
		cmd.InitDefaultHelpFlag()
		cmd.InitDefaultVersionFlag()
		return cmd.Help()
	}}
}
