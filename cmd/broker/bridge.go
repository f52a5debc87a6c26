package main

import (
	"os"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/app/host"
	"github.com/mcpbroker/mcpbroker/internal/cli"
)

// bridgeApp reads a command line that does no more than serve on stdio through
// the daemon. Of all processes of the broker most are these, so they do not
// build the other commands. It reports false for every other command line, also
// one that is wrong.
func bridgeApp(args []string) (*env, *host.Client, bool) {
	if len(args) == 0 || args[0] != "serve" {
		return nil, nil, false
	}
	if yes, _ := host.SharesDaemon(os.Getenv); !yes {
		return nil, nil, false
	}
	a := &env{IO: cli.IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, protocol: os.Stdout}
	var clients serveFlags
	texts := map[string]*string{"--config": &a.configPath, "--state-dir": &a.stateDir, "--mode": &clients.mode, "--skills": &a.skillsPath, "--profile": &a.profile}
	switches := map[string]*bool{"--read-only": &clients.readOnly, "--verbose": &a.verbose, "-v": &a.verbose}
	for rest := args[1:]; len(rest) > 0; rest = rest[1:] {
		name, value, given := strings.Cut(rest[0], "=")
		if set := switches[name]; set != nil && !given {
			*set = true
			continue
		}
		set := texts[name]
		if !given && len(rest) > 1 {
			rest = rest[1:]
			value, given = rest[0], true
		}
		if set == nil || !given {
			return nil, nil, false
		}
		*set = value
	}
	return a, a.client(clients.overrides()), checkMode(clients.mode) == nil
}
