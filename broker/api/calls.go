package api

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/state"
)

// listCalls answers JSON, or what is to be saved: format=jsonl or csv.
func (s *server) listCalls(r *http.Request) (int, any, error) {
	q := queryOf(r)
	f := state.CallFilter{Limit: int(q.number("limit", maxExported)), Before: q.number("before", 1<<62), Since: q.time("since"), Until: q.time("until"),
		Server: q.Get("server"), Tool: q.Get("tool"), Status: q.Get("status"), Class: q.Get("class"), Client: q.Get("client"), Text: q.Get("q")}
	if q.err != nil {
		return 0, nil, q.err
	}
	write, known := exports[q.Get("format")]
	if q.Has("format") && !known {
		return 0, nil, newProblem(http.StatusUnprocessableEntity, "bad_query", "format is %.40q: use jsonl or csv", q.Get("format"))
	}
	var list Calls
	var err error
	if known {
		list.Calls, err = s.o.Reader.Audit.Calls(r.Context(), f)
	} else {
		list, err = s.o.Reader.searchCalls(r.Context(), f, searchTime)
	}
	if err != nil || !known {
		return answered(list, err)
	}
	return http.StatusOK, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", "broker-audit."+q.Get("format")))
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		write(w, list.Calls)
	}), nil
}

// maxExported is how many rows an export has at most.
const maxExported = 100_000

var exports = map[string]func(http.ResponseWriter, []state.Call){
	"jsonl": func(w http.ResponseWriter, list []state.Call) {
		for _, c := range list {
			_, _ = fmt.Fprintln(w, gate.Encode(c).String())
		}
	},
	"csv": func(w http.ResponseWriter, list []state.Call) {
		out := csv.NewWriter(w)
		_ = out.Write([]string{"n", "started", "client", "execution", "server", "tool", "class", "decision", "status", "duration_ms", "arg_bytes", "result_bytes", "error"})
		for _, c := range list {
			row := []string{strconv.FormatInt(c.N, 10), c.Started.UTC().Format(time.RFC3339Nano), c.Client, c.ExecutionID, c.Server, c.Tool, c.Class, c.Decision, c.Status,
				strconv.FormatFloat(float64(c.Duration.Microseconds())/1000, 'f', 3, 64), strconv.FormatInt(c.ArgBytes, 10), strconv.FormatInt(c.ResultBytes, 10), c.Error}
			for i, cell := range row {
				if cell = gate.Line(cell); cell != "" && (cell[0] == '=' || cell[0] == '+' || cell[0] == '@' || cell[0] == '-') {
					cell = "'" + cell // or a spreadsheet takes it for a formula
				}
				row[i] = cell
			}
			_ = out.Write(row)
		}
		out.Flush()
	},
}
