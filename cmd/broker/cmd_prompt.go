package main

import (
	"cmp"
	"errors"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/broker/surface"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/await"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
)

// promptOptions are the options of broker prompt.
type promptOptions struct {
	mode string
}

func promptCommand(e *env) *cobra.Command {
	o := &promptOptions{}
	c := &cobra.Command{
		Use:   "prompt",
		Short: "Print a section for a system prompt",
		Long: "Print a section for a system prompt or CLAUDE.md: when to write code, how to find tools, one example, " +
			"and with a config what its servers say about their own tools, as far as they are listed. It starts no server.",
		Args: cli.NoArgs,
		RunE: func(_ *cobra.Command, _ []string) error { return o.run(e) },
	}
	c.Flags().StringVar(&o.mode, "mode", "", "the mode of the broker: code, tools or auto (default that of the config, else code)")
	return c
}

func (o *promptOptions) run(e *env) error {
	if err := checkMode(o.mode); err != nil {
		return err
	}
	text, err := promptText(e, o.mode)
	if err != nil {
		return err
	}
	if e.JSON {
		return e.PrintJSON(map[string]string{"prompt": text})
	}
	cli.Fprintf(e.Out, "%s", cli.Lines(text))
	return nil
}

// promptText returns what prompt prints; without a config it knows no servers.
func promptText(e *env, mode string) (text string, err error) {
	if _, err := config.Find(e.configPath); errors.Is(err, config.ErrNoConfig) && e.configPath == "" {
		return surface.PromptFor(broker.Mode(mode)), nil
	}
	s, err := e.open(application.Overrides{})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	await.PrintMissing(e.Err, s, "", "")
	return s.Broker.Prompt(broker.Mode(cmp.Or(mode, s.Config.Broker.Mode))), nil
}
