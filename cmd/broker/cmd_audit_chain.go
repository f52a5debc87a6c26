package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/records"
	"github.com/mcpbroker/mcpbroker/state"
)

// auditVerifyOptions are the options of broker audit verify.
type auditVerifyOptions struct {
	file string
}

func auditVerifyCommand(e *env) *cobra.Command {
	o := &auditVerifyOptions{}
	c := &cobra.Command{
		Use: "verify", Short: "Check that nobody has changed the record", Args: cli.NoArgs,
		Long: "Check that nobody has changed the record: each row has a digest in a chain of hashes. The first row that was\n" +
			"changed is named, and the exit code is 1. Someone who can write the file can rewrite all of it, or cut its end. To detect\n" +
			"that you need anchors: heads of the chain, which audit.anchor of the config appends to a file that they cannot write.",
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), e) },
	}
	c.Flags().StringVar(&o.file, "anchor", "", "compare with the heads in this file (default: audit.anchor of the config)")
	return c
}

func (o *auditVerifyOptions) run(ctx context.Context, e *env) error {
	return e.withRecord(ctx, func(store state.AuditStore) error {
		path := o.file
		if path == "" {
			setup := e.setup()
			var err error
			if path, err = setup.AnchorFile(); err != nil {
				return err
			}
		}
		anchors, err := records.ReadAnchors(path, o.file != "")
		if err != nil {
			return err
		}
		v, err := store.Verify(ctx, anchors)
		if err != nil {
			return err
		}
		if e.JSON {
			err = e.PrintJSON(v)
		} else {
			records.PrintVerification(e.Out, v, len(anchors))
		}
		if err == nil && !v.OK() {
			err = cli.Exit(cli.ExitFailed, nil)
		}
		return err
	})
}

// auditExportOptions are the options of broker audit export.
type auditExportOptions struct {
	format string
}

func auditExportCommand(e *env) *cobra.Command {
	o := &auditExportOptions{}
	c := &cobra.Command{
		Use: "export", Short: "Print executions, calls and events as JSON lines, oldest first", Args: cli.NoArgs,
		Long: "Print all executions with their calls, oldest first, then all events, as JSON lines: {\"execution\", \"calls\"}, {\"calls\"} for calls that\n" +
			"no execution made, and {\"event\"}. With --format otlp, each line is a request of OTLP logs in JSON, which collectors read from\n" +
			"files (otlpjsonfile) or take at /v1/logs.",
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), e) },
	}
	c.Flags().StringVar(&o.format, "format", "jsonl", "jsonl, or otlp for OpenTelemetry logs")
	return c
}

func (o *auditExportOptions) run(ctx context.Context, e *env) error {
	return e.withRecord(ctx, func(store state.AuditStore) error {
		switch o.format {
		case "jsonl":
			return records.ExportLines(ctx, e.Out, store)
		case "otlp":
			return records.ExportOTLP(ctx, e.Out, store, version)
		}
		return cli.Usagef("unknown format %q\nhint: jsonl, otlp", o.format)
	})
}
