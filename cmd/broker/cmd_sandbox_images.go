package main

import (
	"cmp"
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/selftest"
	"github.com/mcpbroker/mcpbroker/sandbox/docker"
)

// sandboxBuildOptions are the options of broker sandbox build.
type sandboxBuildOptions struct {
	base   string
	rootfs string
}

func sandboxBuildCommand(e *env) *cobra.Command {
	o := &sandboxBuildOptions{}
	c := &cobra.Command{
		Use:   "build goja|node|python",
		Short: "Build the container image that scripts run in",
		Long: "Make an image for containers. goja is for JavaScript and TypeScript; it holds this program alone, and is also made\n" +
			"when it is first needed. node, for JavaScript and TypeScript in Node, and python are made of an image that has node\n" +
			"or python3, which is downloaded unless the engine has it, or of a file system in a tar archive. Packages that are in\n" +
			"the image of Python can be imported by scripts.",
		Args: cli.OneArg("goja, node or python"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), e, args) },
	}
	c.Flags().StringVar(&o.base, "base", "", "the image that has node or python3 (default node:22-slim, python:3-slim)")
	c.Flags().StringVar(&o.rootfs, "rootfs", "", "a tar archive with node or python3 instead, - for stdin")
	return c
}

func (o *sandboxBuildOptions) run(ctx context.Context, e *env, args []string) error {
	kind := args[0]
	how, made := selftest.Recipes[kind]
	if !made && kind != docker.KindGoja {
		return cli.Usagef("unknown image %q\nhint: the images are goja, node and python", kind)
	}
	if !made && (o.base != "" || o.rootfs != "") {
		return cli.Usagef("--base and --rootfs are for node and python: goja is made of this program alone")
	}
	if o.base != "" && o.rootfs != "" {
		return cli.Usagef("--base and --rootfs exclude each other")
	}
	set, err := sandboxSettings(e)
	if err != nil {
		return err
	}
	m, err := docker.NewManager(ctx, application.EngineAddress(set))
	if err != nil {
		return err
	}
	defer m.Close()
	var name string
	stop := e.Busy("making the image of " + kind)
	defer stop()
	switch {
	case !made:
		name, err = m.BuildGoja(ctx, "")
	case o.rootfs != "":
		name, err = importImage(ctx, e, m, kind, o.rootfs)
	default:
		name, err = m.Build(ctx, kind, "", how.Dockerfile, cmp.Or(o.base, how.Base))
	}
	if stop(); err != nil {
		return err
	}
	return selftest.TryImage(ctx, &e.IO, set, kind, name, e.logger())
}

// imageManager returns the manager of the images of the configured engine, or of the
// default one.
func imageManager(ctx context.Context, e *env) (*docker.Manager, error) {
	set, err := sandboxSettings(e)
	if err != nil {
		return nil, err
	}
	return docker.NewManager(ctx, application.EngineAddress(set))
}

func importImage(ctx context.Context, e *env, m *docker.Manager, kind, rootfs string) (string, error) {
	in := e.In
	if rootfs != "-" {
		f, err := os.Open(rootfs)
		if err != nil {
			return "", cli.Usagef("--rootfs: %w", err)
		}
		defer f.Close()
		in = f
	}
	return m.Import(ctx, kind, "", in)
}

func sandboxListCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the container images that scripts run in",
		Args:  cli.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return runSandboxList(cmd.Context(), e) },
	}
}

func runSandboxList(ctx context.Context, e *env) error {
	m, err := imageManager(ctx, e)
	if err != nil {
		return err
	}
	defer m.Close()
	list, err := m.Images(ctx, "")
	if err != nil {
		return err
	}
	if e.JSON {
		return e.PrintJSON(map[string]any{"engine": m.Address(), "images": append([]docker.Image{}, list...)})
	}
	if len(list) == 0 {
		_, err := cli.Fprintf(e.Out, "no images at %s; broker sandbox build makes them\n", m.Address())
		return err
	}
	return selftest.PrintImages(e.Out, list)
}

// sandboxPruneOptions are the options of broker sandbox prune.
type sandboxPruneOptions struct {
	all bool
}

func sandboxPruneCommand(e *env) *cobra.Command {
	o := &sandboxPruneOptions{}
	c := &cobra.Command{
		Use:   "prune",
		Short: "Remove leftover containers and images of other versions",
		Args:  cli.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), e) },
	}
	c.Flags().BoolVar(&o.all, "all", false, "remove the images of this version too")
	return c
}

func (o *sandboxPruneOptions) run(ctx context.Context, e *env) error {
	m, err := imageManager(ctx, e)
	if err != nil {
		return err
	}
	defer m.Close()
	p, err := m.Prune(ctx, "", o.all, e.logger())
	if e.JSON {
		if jerr := e.PrintJSON(p); jerr != nil {
			return jerr
		}
		return err
	}
	cli.Fprintf(e.Out, "removed %s and %s\n", cli.Count(p.Containers, "container"), cli.Count(len(p.Images), "image"))
	return err
}

// sandboxSettings are those of the config, if there is one: the test needs none.
func sandboxSettings(e *env) (config.Sandbox, error) {
	cfg, err := e.load()
	if errors.Is(err, config.ErrNoConfig) && e.configPath == "" {
		return config.Broker{}.WithDefaults().Sandbox, nil
	}
	if err != nil {
		return config.Sandbox{}, err
	}
	return cfg.SandboxSettings(), nil
}
