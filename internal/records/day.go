package records

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
	"github.com/mcpbroker/mcpbroker/state"
)

const (
	// maxDayExecutions and maxDayCalls bound the records that "audit DAY" shows.
	maxDayExecutions = 1000
	maxDayCalls      = 10_000
)

// A Day is the record of a day, earliest first.
type Day struct {
	Executions []state.Execution `json:"executions"`
	Calls      []state.Call      `json:"calls"`
	Truncated  bool              `json:"truncated,omitempty"`
}

// ReadDay reads what was recorded in a span of time.
func ReadDay(ctx context.Context, store state.AuditStore, s cli.Span) (day Day, _ error) {
	executions, err := store.List(ctx, state.Filter{Since: s.From, Until: s.Until, Limit: maxDayExecutions + 1})
	if err != nil {
		return day, err
	}
	calls, err := store.Calls(ctx, state.CallFilter{Since: s.From, Until: s.Until, Limit: maxDayCalls + 1})
	if err != nil {
		return day, err
	}
	day.Truncated = len(executions) > maxDayExecutions || len(calls) > maxDayCalls
	day.Executions = cli.OrEmpty(executions[:min(len(executions), maxDayExecutions)])
	day.Calls = cli.OrEmpty(calls[:min(len(calls), maxDayCalls)])
	slices.Reverse(day.Executions)
	slices.Reverse(day.Calls)
	return day, nil
}

// maxDayLines bounds the lines of a day, and maxExecutionLines those of one execution.
const (
	maxDayLines       = 60
	maxExecutionLines = 8
)

// PrintDay prints a day on one screen: the totals, and the last executions with their
// calls.
func PrintDay(w io.Writer, day Day, s cli.Span) error {
	if len(day.Executions)+len(day.Calls) == 0 {
		_, err := cli.Fprintf(w, "nothing was recorded between %s and %s\n", s.From.Local().Format("2006-01-02 15:04"), s.Until.Local().Format("2006-01-02 15:04"))
		return err
	}
	cli.Fprintf(w, "%s\n", daySums(day, s))
	of := make(map[string][]state.Call)
	for _, c := range day.Calls {
		of[c.ExecutionID] = append(of[c.ExecutionID], c)
	}
	var blocks [][]string
	for _, e := range day.Executions {
		head := cli.Time(e.Started) + "  " + ShortID(e.ID, day.Executions) + "  " + e.Status
		if e.Error != "" {
			head += ": " + cli.OneLine(e.Error, 100)
		}
		head += "  (" + strings.Join([]string{cli.Count(e.Calls, "call"), e.Duration.Round(time.Millisecond).String(), ClientOf(e)}, ", ") + ")"
		if title := titleOf(e.Code); title != "" {
			head += "  " + cli.OneLine(title, 60)
		}
		blocks = append(blocks, append([]string{head}, dayCalls(of[e.ID], "broker audit show "+ShortID(e.ID, day.Executions))...))
		delete(of, e.ID)
	}
	var others []state.Call // of no execution, or of an earlier one
	for _, c := range day.Calls {
		if _, left := of[c.ExecutionID]; left {
			others = append(others, c)
		}
	}
	if len(others) > 0 {
		blocks = append(blocks, dayCalls(others, "broker audit export"))
	}
	printLast(w, blocks, s)
	if day.Truncated {
		cli.Fprintf(w, "there are more records: broker audit export prints all\n")
	}
	if len(day.Calls) > 0 && !slices.ContainsFunc(day.Calls, func(c state.Call) bool { return len(c.Args) > 0 }) {
		cli.Fprintf(w, "arguments are not kept; to keep them: \"broker\": {\"audit\": {\"payloads\": true}} in the config\n")
	}
	return nil
}

// daySums counts the calls and executions, and those that failed.
func daySums(day Day, s cli.Span) string {
	failed, bad, servers := 0, 0, map[string]bool{}
	for _, e := range day.Executions {
		if e.Status != state.StatusDone && e.Status != state.StatusRunning {
			failed++
		}
	}
	for _, c := range day.Calls {
		servers[c.Server] = true
		if c.Status != state.CallOK {
			bad++
		}
	}
	sums := cli.Count(len(day.Executions), "execution")
	if failed > 0 {
		sums += fmt.Sprintf(" (%d not done)", failed)
	}
	sums += ", " + cli.Count(len(day.Calls), "call")
	if len(servers) > 0 {
		sums += " of " + cli.Count(len(servers), "server")
	}
	if bad > 0 {
		sums += fmt.Sprintf(" (%d not ok)", bad)
	}
	from := s.From.Local()
	if s.From.Equal(cli.DayOf(time.Date(from.Year(), from.Month(), from.Day(), 0, 0, 0, 0, from.Location())).From) {
		return from.Format("Mon 2006-01-02") + ": " + sums
	}
	return "since " + from.Format("Mon 2006-01-02 15:04") + ": " + sums
}

// printLast prints the last blocks of lines that fit on the screen.
func printLast(w io.Writer, blocks [][]string, s cli.Span) {
	first, total := len(blocks), 0
	for first > 0 && (total == 0 || total+len(blocks[first-1]) <= maxDayLines) {
		first--
		total += len(blocks[first])
	}
	if first > 0 {
		const layout = "2006-01-02 15:04"
		cli.Fprintf(w, "%s before these: broker audit list --limit %d --since %q --until %q\n", cli.Count(first, "execution"), maxDayExecutions, s.From.Local().Format(layout), s.Until.Local().Format(layout))
	}
	for _, b := range blocks[first:] {
		for _, line := range b {
			cli.Fprintf(w, "%s\n", line)
		}
	}
}

// dayCalls returns the lines of calls, with their arguments if they were recorded.
// Consecutive equal calls share a line. If there are too many lines, the last one names
// the command that shows all.
func dayCalls(calls []state.Call, all string) (list []string) {
	for i := 0; i < len(calls); {
		c, n, took := calls[i], 1, calls[i].Duration
		for i+n < len(calls) && alike(c, calls[i+n]) {
			took += calls[i+n].Duration
			n++
		}
		if len(list) >= maxExecutionLines-1 && i+n < len(calls) {
			return append(list, fmt.Sprintf("    and %d more: %s", len(calls)-i, all))
		}
		line := "    " + c.Started.Local().Format(time.TimeOnly) + "  " + c.ID + "  " + c.Status + ", " + took.Round(time.Millisecond).String()
		if n > 1 {
			line += fmt.Sprintf(" in %d calls", n)
		}
		if c.Error != "" {
			line += ": " + cli.OneLine(c.Error, 80)
		}
		list = append(list, line)
		if len(c.Args) > 0 {
			list = append(list, "              "+cli.OneLine(string(c.Args), 100))
		}
		i += n
	}
	return list
}

// alike reports whether two calls have the same line except for their times.
func alike(a, b state.Call) bool {
	return a.ID == b.ID && a.Status == b.Status && a.Error == b.Error && string(a.Args) == string(b.Args)
}

// commentMarks matches the marks of a comment in the first line of a script.
var commentMarks = lazyregexp.New(`^(//+|/\*+|\*+|#+!?|"""|''')\s*|\s*(\*/|"""|''')$`)

// titleOf returns the first line of a script with text, without comment marks.
func titleOf(code string) string {
	for line := range strings.Lines(code) {
		line = strings.TrimSpace(line)
		if title := commentMarks.ReplaceAllString(line, ""); title != "" && !strings.HasPrefix(line, "import ") {
			return title
		}
	}
	return ""
}
