package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/mcpbroker/mcpbroker/broker/api"
	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/sqlite"
)

// A line of what broker audit export prints; events and calls of no execution have none.
type line struct {
	Execution *struct {
		Status   string `json:"status"`
		Calls    int    `json:"calls"`
		BytesIn  int64  `json:"bytes_in"`
		BytesOut int64  `json:"bytes_out"`
		Code     string `json:"code"`
	} `json:"execution"`
}

// recorded sums up executions.
type recorded struct {
	executions, calls int
	unknown           int   // executions without recorded code
	kept, code        int64 // bytes
}

func (r *recorded) add(e state.Execution) {
	r.executions++
	r.calls += e.Calls
	r.kept += e.BytesKept()
	r.code += int64(len(e.Code))
	if e.Code == "" {
		r.unknown++
	}
}

// readAudit reads a state directory, or what broker audit export printed.
func readAudit(ctx context.Context, path string) (r recorded, err error) {
	if info, err := os.Stat(path); err != nil {
		return r, err
	} else if info.IsDir() {
		store, err := sqlite.OpenReadOnly(path)
		if err != nil {
			return r, err
		}
		defer store.Close()
		return r, store.Export(ctx, func(e state.Execution, _ []state.Call) error {
			if e.ID != "" {
				r.add(e)
			}
			return nil
		})
	}
	return r, eachLine(path, func(l line) {
		if e := l.Execution; e != nil {
			r.add(state.Execution{Status: e.Status, Calls: e.Calls, BytesIn: e.BytesIn, BytesOut: e.BytesOut, Code: e.Code})
		}
	})
}

// showAudit prints what the ledger has, and what the ledger leaves out: scripts, and
// searches, which are in no record.
func showAudit(ctx context.Context, out io.Writer, path, index string, a assumptions) error {
	r, err := readAudit(ctx, path)
	if err != nil {
		return err
	}
	var definitions struct {
		Before int `json:"tokens_before"`
		After  int `json:"tokens_after"`
	}
	if index != "" {
		data, err := os.ReadFile(index)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(data, &definitions); err != nil {
			return fmt.Errorf("%s: %w", index, err)
		}
	}
	saved := api.Saved(definitions.Before, definitions.After, r.kept)
	scripts := r.code / api.BytesPerToken
	net := saved.Results - scripts - int64(a.search*r.executions)
	fmt.Fprintf(out, "%d executions, %d calls\n", r.executions, r.calls)
	fmt.Fprintf(out, "%10d tokens of results were kept out\n", saved.Results)
	fmt.Fprintf(out, "%10d tokens of scripts were written", -scripts)
	if r.unknown > 0 {
		fmt.Fprintf(out, "; the code of %d executions is not in the record", r.unknown)
	}
	fmt.Fprintf(out, "\n%10d tokens of searches, %d for each execution (--search)\n", -a.search*r.executions, a.search)
	fmt.Fprintf(out, "%10d tokens less in context windows, beside definitions\n", net)
	if index == "" {
		_, err = fmt.Fprintln(out, "definitions: unknown without --index")
		return err
	}
	// One turn for each execution is the least that the record proves.
	_, err = fmt.Fprintf(out, "%10d tokens of definitions less in each turn: %d in %d turns, one for each execution\n",
		saved.Definitions, saved.Definitions*r.executions, r.executions)
	return err
}
