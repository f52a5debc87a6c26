package records

import (
	"context"
	"io"
	"slices"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/telemetry"
	"github.com/mcpbroker/mcpbroker/state"
)

// ExportLines prints a record as JSON lines.
func ExportLines(ctx context.Context, w io.Writer, store state.AuditStore) error {
	err := store.Export(ctx, func(e state.Execution, calls []state.Call) error {
		line := map[string]any{"calls": cli.OrEmpty(calls)}
		if e.ID != "" {
			line["execution"] = e
		}
		return cli.WriteJSON(w, line, "")
	})
	if err != nil {
		return err
	}
	return eachEvent(ctx, store, func(e state.Event) error { return cli.WriteJSON(w, map[string]any{"event": e}, "") })
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

// ExportOTLP prints a record as requests of OTLP logs; version is that of the broker.
func ExportOTLP(ctx context.Context, w io.Writer, store state.AuditStore, version string) error {
	var batch []telemetry.Log
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		err := cli.WriteJSON(w, telemetry.LogRequest(version, batch), "")
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
