package main

import (
	"bufio"
	"errors"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/internal/doctor"
	"github.com/mcptap/mcptap/wrap/config"
)

const doctorLong = `Checks the program, the data directory and its disk, the recordings, the MCPTAP_
variables, and the clients with their servers. It changes nothing. The exit code is 1
if something does not work.`

type doctorOptions struct{ json bool }

func newDoctor(a *app) *cobra.Command {
	var o doctorOptions
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the installation",
		Long:  doctorLong,
		Args:  takes(0, 0, ""),
		RunE:  func(*cobra.Command, []string) error { return o.run(a) },
	}
	addJSON(cmd, &o.json)
	return cmd
}

func (o *doctorOptions) run(a *app) error {
	m := doctor.Machine{Version: programVersion(), DirFlag: a.dirFlag, Hint: hintFor, Env: a.env, Environ: a.environ}
	m.Dir, m.NoDir = a.dataDir()
	m.Clients = func() ([]config.File, error) { return new(wrapOptions).find(a) }
	w := bufio.NewWriter(a.stdout)
	ok, err := m.Print(a.printer(w), o.json)
	if err = errors.Join(err, w.Flush()); err == nil && !ok {
		err = exitCode(exitNegative)
	}
	return err
}
