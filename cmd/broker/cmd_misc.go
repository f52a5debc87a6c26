package main

import (
	"cmp"
	"errors"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/broker/surface"
	"github.com/mcpbroker/mcpbroker/internal/await"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
)

// stamped is the version that release builds are linked with.
var stamped string

var version = cmp.Or(stamped, recordedVersion(debug.ReadBuildInfo()))

// recordedVersion is the version that Go recorded, which has the commit of a build
// from a clone, or the commit alone.
func recordedVersion(info *debug.BuildInfo, ok bool) string {
	if !ok {
		return "dev"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return "dev-" + s.Value[:min(12, len(s.Value))]
		}
	}
	return "dev"
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cli.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return a.printVersion() },
	}
}

func (a *app) printVersion() error {
	if a.JSON {
		return a.PrintJSON(map[string]string{"version": version, "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH})
	}
	_, err := cli.Fprintf(a.Out, "broker %s (%s %s/%s)\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

func (a *app) promptCommand() *cobra.Command {
	var mode string
	c := &cobra.Command{
		Use:   "prompt",
		Short: "Print a section for a system prompt",
		Long: "Print a section for a system prompt or CLAUDE.md: when to write code, how to find tools, one example, " +
			"and with a config what its servers say about their own tools, as far as they are listed. It starts no server.",
		Args: cli.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := checkMode(mode); err != nil {
				return err
			}
			text, err := a.promptText(mode)
			if err != nil {
				return err
			}
			if a.JSON {
				return a.PrintJSON(map[string]string{"prompt": text})
			}
			cli.Fprintf(a.Out, "%s", cli.Lines(text))
			return nil
		},
	}
	c.Flags().StringVar(&mode, "mode", "", "the mode of the broker: code, tools or auto (default that of the config, else code)")
	return c
}

// promptText returns what prompt prints; without a config it knows no servers.
func (a *app) promptText(mode string) (text string, err error) {
	if _, err := config.Find(a.configPath); errors.Is(err, config.ErrNoConfig) && a.configPath == "" {
		return surface.PromptFor(broker.Mode(mode)), nil
	}
	s, err := a.open(-1)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	await.PrintMissing(a.Err, s, "", "")
	return s.Broker.Prompt(broker.Mode(cmp.Or(mode, s.Config.Broker.Mode))), nil
}

// checkMode refuses what --mode cannot be.
func checkMode(mode string) error {
	switch broker.Mode(mode) {
	case "", broker.ModeCode, broker.ModeTools, broker.ModeAuto:
		return nil
	}
	return cli.Usagef("unknown mode %q\nhint: --mode code, tools or auto", mode)
}
