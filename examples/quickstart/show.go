package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// An index is what "broker index --json" prints.
type index struct {
	Servers []struct {
		Name  string `json:"name"`
		Error string `json:"error"`
	} `json:"servers"`
	Tools        int `json:"tools"`
	TokensBefore int `json:"tokens_before"` // of all definitions of the servers' tools
	TokensAfter  int `json:"tokens_after"`  // of the broker's own
}

// failed returns an error that names the servers that could not be reached.
func (idx index) failed() error {
	var errs []error
	for _, s := range idx.Servers {
		if s.Error != "" {
			errs = append(errs, fmt.Errorf("server %s: %s", s.Name, s.Error))
		}
	}
	return errors.Join(errs...)
}

// An execution is what "broker exec --json" prints: what a model would read.
type execution struct {
	ExitCode    int     `json:"exit_code"`
	Stdout      string  `json:"stdout"`
	Stderr      string  `json:"stderr"`
	DurationMS  float64 `json:"duration_ms"`
	ToolsCalled []struct {
		Tool   string `json:"tool"`
		Status string `json:"status"`
		N      int    `json:"n"` // equal calls in a row; 0 means 1
	} `json:"tools_called"`
}

// stats is what "broker audit stats --json" prints, as far as it is shown.
type stats struct {
	BytesIn  int64 `json:"bytes_in"`  // results that came into the sandbox
	BytesOut int64 `json:"bytes_out"` // answers that went to the model
}

// show prints the report and then what was called and saved.
func show(stdout, stderr io.Writer, idx index, ex execution, st stats) {
	if ex.Stdout != "" {
		fmt.Fprintf(stdout, "\n%s\n", strings.TrimRight(ex.Stdout, "\n"))
	}
	if ex.Stderr != "" {
		fmt.Fprintln(stderr, strings.TrimRight(ex.Stderr, "\n"))
	}
	calls, rows := tally(ex)
	fmt.Fprintf(stdout, "\none script, %s tool calls, %s ms:\n", comma(calls), comma(int(ex.DurationMS)))
	for _, r := range rows {
		fmt.Fprintf(stdout, "  %5s × %s\n", comma(r.n), r.name)
	}
	fmt.Fprintf(stdout, "tool results:      %8s bytes came into the sandbox, %s went to the model\n", comma(int(st.BytesIn)), comma(int(st.BytesOut)))
	fmt.Fprintf(stdout, "tool definitions:  %8s tokens for the %d tools, %s with the broker in front\n", comma(idx.TokensBefore), idx.Tools, comma(idx.TokensAfter))
}

// A row is one tool with the number of its calls.
type row struct {
	name string
	n    int
}

// tally counts the calls by tool, in the order of their first call. Failed
// calls are a row of their own.
func tally(ex execution) (calls int, rows []row) {
	at := map[string]int{}
	for _, c := range ex.ToolsCalled {
		name := c.Tool
		if c.Status != "ok" {
			name += " (" + c.Status + ")"
		}
		i, seen := at[name]
		if !seen {
			i = len(rows)
			at[name] = i
			rows = append(rows, row{name: name})
		}
		n := max(c.N, 1)
		rows[i].n += n
		calls += n
	}
	return calls, rows
}

// comma writes n with a comma between thousands.
func comma(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
