package records

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/state"
)

// tailPoll is how often broker tail --follow looks for what is new.
const tailPoll = 200 * time.Millisecond

// maxTailCalls is how many calls of one poll are printed at most.
const maxTailCalls = 10_000

// A Tail prints what was recorded as lines, the newest last.
type Tail struct {
	IO             *cli.IO
	Open           func() (state.AuditStore, error)
	Server, Status string
	Limit          int  // lines to begin with; negative for all
	Follow         bool // print what is new until the context ends

	printed map[string]string // the status that executions were last printed with
	last    int64             // number of the last call that was printed
}

// A tailRow is one line: an execution or a call.
type tailRow struct {
	client, tool, class, status, more string
	took                              time.Duration
	ended                             time.Time // or begun, if it has not
	json                              any
}

// TailStatuses are those of calls and of executions.
var TailStatuses = slices.Compact(slices.Sorted(slices.Values(append([]string{
	state.CallOK, state.CallError, state.CallDenied, state.CallCancelled, state.CallTimeout}, Statuses...))))

// Run prints the lines. With follow it ends with ctx, which is no error.
func (t *Tail) Run(ctx context.Context) error {
	err := t.lines(ctx)
	if t.Follow && ctx.Err() != nil {
		return nil
	}
	return err
}

func (t *Tail) lines(ctx context.Context) error {
	tick := time.NewTicker(tailPoll)
	defer tick.Stop()
	next := func() error {
		select {
		case <-tick.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	store, err := t.Open()
	for t.Follow && errors.Is(err, state.ErrNoRecord) && next() == nil { // the first script makes it
		store, err = t.Open()
	}
	if err != nil {
		return err
	}
	defer store.Close()
	news, err := store.News(ctx, state.Position{})
	if err == nil && t.Limit != 0 {
		err = t.begin(ctx, store)
	}
	for err == nil && t.Follow {
		if err = next(); err == nil {
			news, err = t.goOn(ctx, store, news.At)
		}
	}
	return err
}

// begin prints what was recorded last.
func (t *Tail) begin(ctx context.Context, store state.AuditStore) error {
	calls, err := store.Calls(ctx, state.CallFilter{Limit: t.Limit, Server: t.Server, Status: t.Status})
	executions, err2 := store.List(ctx, state.Filter{Limit: t.Limit, Status: t.Status})
	if err = errors.Join(err, err2); err != nil {
		return err
	}
	return t.print(executions, calls, t.Limit)
}

// goOn prints what was recorded after a position.
func (t *Tail) goOn(ctx context.Context, store state.AuditStore, after state.Position) (state.News, error) {
	n, err := store.News(ctx, after)
	if err == nil && n.Missed {
		n.Calls, err = store.Calls(ctx, state.CallFilter{Limit: int(min(n.At.Call-after.Call, maxTailCalls))})
	}
	if err != nil {
		return n, err
	}
	return n, t.print(n.Executions, n.Calls, -1)
}

// print prints what is wanted and was not printed before, at most the newest limit
// lines, in the order in which it ended.
func (t *Tail) print(executions []state.Execution, calls []state.Call, limit int) error {
	var rows []tailRow
	add := func(started time.Time, r tailRow) {
		if r.ended = started.Add(r.took); t.Status == "" || t.Status == r.status {
			rows = append(rows, r)
		}
	}
	before, last := t.printed, t.last
	t.printed = make(map[string]string) // what is given twice is given twice in a row
	for _, e := range executions {
		t.printed[e.ID] = e.Status
		if before[e.ID] != e.Status && t.Server == "" {
			add(e.Started, tailRow{ClientOf(e), ShortID(e.ID, nil) + " " + cli.Count(e.Calls, "call"), "", e.Status, e.Error, e.Duration, time.Time{}, map[string]any{"execution": e}})
		}
	}
	for _, c := range calls {
		t.last = max(t.last, c.N)
		if c.N > last && (t.Server == "" || t.Server == c.Server) {
			add(c.Started, tailRow{c.Client, cmp.Or(c.ID, c.Server+"."+c.Tool), c.Class, c.Status, c.Decision + " " + c.Error, c.Duration, time.Time{}, map[string]any{"call": c}})
		}
	}
	slices.SortStableFunc(rows, func(a, b tailRow) int { return a.ended.Compare(b.ended) })
	if limit >= 0 && len(rows) > limit {
		rows = rows[len(rows)-limit:]
	}
	width := cli.Width(t.IO.Out)
	for _, r := range rows {
		var err error
		if t.IO.JSON {
			err = cli.WriteJSON(t.IO.Out, r.json, "")
		} else {
			_, err = cli.Fprintln(t.IO.Out, r.line(width))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// line is the row as text that fits into width; 0 is any width.
func (r tailRow) line(width int) string {
	tool := 36
	if width > 0 { // 62 is what stands beside the tool, without the decision
		tool = min(tool, max(16, width-62))
	}
	text := strings.TrimRight(fmt.Sprintf("%s  %-12s  %-*s  %-11s  %-11s  %8s  %s", r.ended.Local().Format(time.TimeOnly),
		cli.OneLine(r.client, 12), tool, cli.OneLine(r.tool, tool), cli.OneLine(r.class, 11), cli.OneLine(r.status, 11), cli.Milliseconds(r.took), cli.OneLine(r.more, 200)), " ")
	if width > 0 {
		return gate.Cut(text, width)
	}
	return text
}
