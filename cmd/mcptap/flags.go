package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcptap/mcptap/internal/endpoint"
	"github.com/mcptap/mcptap/internal/hint"
	"github.com/mcptap/mcptap/internal/term"
)

// takes checks the number of arguments; what describes them.
func takes(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		advice := "usage: `" + cmd.UseLine() + "`"
		if cmd.Name() == "http" && cmd.ArgsLenAtDash() == 0 && len(args) > 0 && !strings.Contains(args[0], "://") {
			return hint.With(errors.New("mcptap http takes a URL, not a command"), "to record a server that is a command: `mcptap stdio -- "+args[0]+" …`")
		}
		if len(args) < least {
			return hint.With(errors.New(cmd.CommandPath()+" needs "+what), advice)
		}
		if most >= 0 && len(args) > most {
			return hint.With(fmt.Errorf("%s takes no argument %s", cmd.CommandPath(), term.Quote(args[most])), advice)
		}
		return nil
	}
}

func addForce(cmd *cobra.Command, to *bool) {
	cmd.Flags().BoolVar(to, "force", false, "overwrite the file if it exists")
}

// checkOutput returns an error if the output file of a flag is a directory, or exists,
// unless force is set. Pipes and devices may exist.
func checkOutput(flag, name string, force bool) error {
	info, err := os.Stat(name)
	switch {
	case name == "" || name == "-" || err != nil:
		return nil
	case info.IsDir():
		return fmt.Errorf("%s: %s is a directory (name a file)", flag, term.Quote(name))
	case force || !info.Mode().IsRegular():
		return nil
	}
	return hint.With(fmt.Errorf("%s: %s already exists", flag, term.Quote(name)), "use --force to overwrite it")
}

// addJSON adds the flag that every reading command has.
func addJSON(cmd *cobra.Command, to *bool) {
	cmd.Flags().BoolVar(to, "json", false, "print one JSON object per line")
}

// addServerURL adds the flags for a live server at a URL. usage is that of --to.
func addServerURL(cmd *cobra.Command, o *endpoint.Server, usage string) {
	f := cmd.Flags()
	f.StringVar(&o.To, "to", "", usage)
	f.StringVar(&o.Transport, "transport", "auto", "transport of the server at the URL: `name` is auto, streamable, sse or websocket")
	f.StringArrayVar(&o.Headers, "header", nil, "header field to add to each request, as `'Name: value'`; the value is not recorded")
	f.StringVar(&o.CAFile, "ca-file", "", "PEM `file` of additional certificates to trust")
	_ = cmd.RegisterFlagCompletionFunc("transport", cobra.FixedCompletions(endpoint.Transports, cobra.ShellCompDirectiveNoFileComp))
}

// anyPort is any free port on the loopback interface.
const anyPort = "127.0.0.1:0"

// addWeb adds --web, which starts the viewer, to a command that records.
func addWeb(f *pflag.FlagSet, web *string) {
	f.StringVar(web, "web", "", "serve the recording to a browser at this `address`, and print the URL on stderr")
	f.Lookup("web").NoOptDefVal = anyPort
}

func addNoPager(cmd *cobra.Command, to *bool) {
	cmd.Flags().BoolVar(to, "no-pager", false, "do not send the output to $PAGER")
}
