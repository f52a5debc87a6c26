package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/telemetry"
	"github.com/mcpbroker/mcpbroker/state"
)

func (a *app) auditVerifyCommand() *cobra.Command {
	var file string
	c := &cobra.Command{
		Use: "verify", Short: "Check that nobody has changed the record", Args: cli.NoArgs,
		Long: "Check that nobody has changed the record: each row has a digest in a chain of hashes. The first row that was\n" +
			"changed is named, and the exit code is 1. Someone who can write the file can rewrite all of it, or cut its end. To detect\n" +
			"that you need anchors: heads of the chain, which audit.anchor of the config appends to a file that they cannot write.",
		RunE: a.withAudit(func(ctx context.Context, store state.AuditStore, _ []string) error {
			path, err := a.anchorFile(file)
			if err != nil {
				return err
			}
			anchors, err := readAnchors(path, file != "")
			if err != nil {
				return err
			}
			v, err := store.Verify(ctx, anchors)
			if err != nil {
				return err
			}
			if a.JSON {
				err = a.PrintJSON(v)
			} else {
				a.printVerification(v, len(anchors))
			}
			if err == nil && !v.OK() {
				err = cli.Exit(cli.ExitFailed, nil)
			}
			return err
		}),
	}
	c.Flags().StringVar(&file, "anchor", "", "compare with the heads in this file (default: audit.anchor of the config)")
	return c
}

func (a *app) printVerification(v state.Verification, anchors int) {
	for _, f := range v.Flaws {
		cli.Fprintf(a.Out, "%d  %s: %s\n", f.N, f.Row, f.Why)
	}
	if v.OK() {
		cli.Fprintf(a.Out, "%s agree with the chain, up to %d\n", cli.Count(v.Links, "row"), v.Head.N)
	}
	if v.Unhashed > 0 {
		cli.Fprintf(a.Out, "%s from before the record had a chain: nothing is known about them\n", cli.Count(v.Unhashed, "row"))
	}
	if v.Base > 0 && v.Links > 0 {
		cli.Fprintf(a.Out, "what was older was pruned: the chain begins after %d\n", v.Base)
	}
	if anchors == 0 {
		cli.Fprintln(a.Out, "without anchors, rows that were cut off at the end, or a record written anew as a whole, are not seen")
	} else {
		cli.Fprintf(a.Out, "%d of %s agree; %d are of rows that were pruned\n", v.Anchors, cli.Count(anchors, "anchor"), v.Older)
	}
}

// anchorFile returns the file with heads of the chain: the named one, or that of the
// config, or "".
func (a *app) anchorFile(named string) (string, error) {
	if named != "" || a.stateDir != "" && a.configPath == "" {
		return named, nil
	}
	path, err := config.Find(a.configPath)
	if errors.Is(err, config.ErrNoConfig) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	cfg, err := config.Load(path)
	if err != nil {
		return "", err
	}
	return cfg.Resolve(cfg.Broker.Audit.Anchor), nil
}

// readAnchors reads one head a line.
func readAnchors(path string, required bool) ([]state.Head, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) && !required {
		return nil, nil
	}
	if err != nil {
		return nil, cli.Usagef("%w", err)
	}
	defer f.Close()
	var list []state.Head
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var h state.Head
		if err := json.Unmarshal(lines.Bytes(), &h); err != nil || h.Hash == "" {
			return nil, cli.Usagef("%s:%d: this is not the head of a chain, such as {\"time\": …, \"n\": 5, \"hash\": …}", path, n)
		}
		list = append(list, h)
	}
	return list, lines.Err()
}

func (a *app) auditExportCommand() *cobra.Command {
	var format string
	c := &cobra.Command{
		Use: "export", Short: "Print executions, calls and events as JSON lines, oldest first", Args: cli.NoArgs,
		Long: "Print all executions with their calls, oldest first, then all events, as JSON lines: {\"execution\", \"calls\"}, {\"calls\"} for calls that\n" +
			"no execution made, and {\"event\"}. With --format otlp, each line is a request of OTLP logs in JSON, which collectors read from\n" +
			"files (otlpjsonfile) or take at /v1/logs.",
		RunE: a.withAudit(func(ctx context.Context, store state.AuditStore, _ []string) error {
			switch format {
			case "jsonl":
				return a.exportLines(ctx, store)
			case "otlp":
				return a.exportOTLP(ctx, store)
			}
			return cli.Usagef("unknown format %q\nhint: jsonl, otlp", format)
		}),
	}
	c.Flags().StringVar(&format, "format", "jsonl", "jsonl, or otlp for OpenTelemetry logs")
	return c
}

func (a *app) exportLines(ctx context.Context, store state.AuditStore) error {
	err := store.Export(ctx, func(e state.Execution, calls []state.Call) error {
		line := map[string]any{"calls": cli.OrEmpty(calls)}
		if e.ID != "" {
			line["execution"] = e
		}
		return cli.WriteJSON(a.Out, line, "")
	})
	if err != nil {
		return err
	}
	return eachEvent(ctx, store, func(e state.Event) error { return cli.WriteJSON(a.Out, map[string]any{"event": e}, "") })
}

// eachEvent calls f for all events, the oldest first.
func eachEvent(ctx context.Context, store state.AuditStore, f func(state.Event) error) error {
	list, err := store.Events(ctx, time.Time{}, -1)
	if err != nil {
		return err
	}
	for _, e := range slices.Backward(list) {
		if err := f(e); err != nil {
			return err
		}
	}
	return nil
}

// maxLogBatch is how many records one request has.
const maxLogBatch = 1000

func (a *app) exportOTLP(ctx context.Context, store state.AuditStore) error {
	var batch []telemetry.Log
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		err := cli.WriteJSON(a.Out, telemetry.LogRequest(version, batch), "")
		batch = batch[:0]
		return err
	}
	add := func(l telemetry.Log) error {
		if batch = append(batch, l); len(batch) >= maxLogBatch {
			return flush()
		}
		return nil
	}
	err := store.Export(ctx, func(e state.Execution, calls []state.Call) error {
		if e.ID != "" {
			if err := add(telemetry.ExecutionLog(e)); err != nil {
				return err
			}
		}
		for _, c := range calls {
			if err := add(telemetry.CallLog(c)); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = eachEvent(ctx, store, func(e state.Event) error { return add(telemetry.EventLog(e)) })
	}
	if err != nil {
		return err
	}
	return flush()
}
