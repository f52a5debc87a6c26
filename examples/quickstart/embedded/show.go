package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/mcpbroker/mcpbroker/broker"
)

// definitions are the sizes of tool definitions as sent to a client.
type definitions struct {
	tools         int // of the servers
	before, after int // bytes of the servers' definitions, and of the broker's own
}

func measureDefinitions(b *broker.Broker) (definitions, error) {
	var d definitions
	for _, server := range b.Listings() {
		data, err := json.Marshal(server.Tools)
		if err != nil {
			return d, err
		}
		d.tools += len(server.Tools)
		d.before += len(data)
	}
	data, err := json.Marshal(b.Surface())
	d.after = len(data)
	return d, err
}

// show prints the report and then what was called and saved.
func show(stdout, stderr io.Writer, answer broker.ExecuteAnswer, moved bytes, d definitions) {
	if answer.Stdout != "" {
		fmt.Fprintf(stdout, "\n%s\n", strings.TrimRight(answer.Stdout, "\n"))
	}
	if answer.Stderr != "" {
		fmt.Fprintln(stderr, strings.TrimRight(answer.Stderr, "\n"))
	}
	calls, rows := tally(answer)
	fmt.Fprintf(stdout, "\none script, %s tool calls, %s ms:\n", comma(calls), comma(int(answer.DurationMS)))
	for _, r := range rows {
		fmt.Fprintf(stdout, "  %5s × %s\n", comma(r.n), r.name)
	}
	fmt.Fprintf(stdout, "tool results:      %8s bytes came into the sandbox, %s went to the model\n", comma(int(moved.in)), comma(int(moved.out)))
	fmt.Fprintf(stdout, "tool definitions:  %8s bytes for the %d tools, %s with the broker in front\n", comma(d.before), d.tools, comma(d.after))
}

// A row is one tool with the number of its calls.
type row struct {
	name string
	n    int
}

// tally counts the calls by tool, in the order of their first call. Failed calls have
// their own row.
func tally(answer broker.ExecuteAnswer) (calls int, rows []row) {
	at := map[string]int{}
	for _, c := range answer.ToolsCalled {
		name := c.Tool
		if c.Status != "ok" {
			name += " (" + string(c.Status) + ")"
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
