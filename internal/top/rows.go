package top

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/words"
)

// The sections of the screen, from the top.
const (
	waitingSection = iota
	serverSection
	executionSection
	writeSection
	sections
)

var titles = [sections]string{"WAITING FOR YOU", "SERVERS", "EXECUTIONS", "LAST WRITES"}

// orders are the orders of the sections; the first is the default.
var orders = [sections][]string{
	waitingSection:   {"newest"},
	serverSection:    {"name", "calls", "p95", "errors"},
	executionSection: {"newest", "longest", "calls", "kept out"},
	writeSection:     {"newest"},
}

// A row is an item that can be chosen.
type row struct {
	key  string // unique in its section
	cell []cell
}

// A column of a section. A zero width takes the remaining space.
type column struct {
	name  string
	width int
	right bool
}

var columns = [sections][]column{
	waitingSection:   {{"run", 10, false}, {"client", 14, false}, {"calls", 0, false}, {"expires", 9, true}},
	serverSection:    {{"server", 0, false}, {"state", 12, false}, {"tools", 6, true}, {"calls/s", 8, true}, {"p95", 8, true}, {"errors", 7, true}},
	executionSection: {{"began", 8, false}, {"client", 0, false}, {"status", 11, false}, {"took", 8, true}, {"calls", 6, true}, {"kept out", 9, true}, {"", 12, false}},
	writeSection:     {{"time", 8, false}, {"client", 14, false}, {"tool", 0, false}, {"class", 11, false}, {"status", 10, false}, {"took", 8, true}},
}

// matches reports whether one of the texts contains the filter, ignoring case.
func matches(filter string, texts ...string) bool {
	if filter == "" {
		return true
	}
	filter = strings.ToLower(filter)
	return slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(strings.ToLower(t), filter) })
}

// rows returns the matching rows of a section, in an order.
func (r *record) rows(section int, filter, order string, now time.Time) []row {
	switch section {
	case waitingSection:
		return r.waitingRows(filter, now)
	case serverSection:
		return r.serverRows(filter, order, now)
	case executionSection:
		return r.executionRows(filter, order, now)
	}
	return r.writeRows(filter)
}

func (r *record) waitingRows(filter string, now time.Time) (list []row) {
	for _, w := range r.waiting {
		var tools []string
		for _, c := range w.calls {
			tools = append(tools, c.Tool)
		}
		if all := strings.Join(tools, ", "); matches(filter, w.ID, w.Client, all) {
			list = append(list, row{w.ID, []cell{{w.ID, warn}, {cmp.Or(w.Client, w.Principal), plain}, {words.Count(len(tools), "call") + ": " + all, plain}, {short(w.Expires.Sub(now)), plain}}})
		}
	}
	return list
}

func (r *record) serverRows(filter, order string, now time.Time) (list []row) {
	loads := r.loads(now)
	sorted := slices.SortedStableFunc(slices.Values(r.servers), func(a, b server) int {
		x, y, d := loads[a.Name], loads[b.Name], 0
		switch order {
		case "calls":
			d = y.calls - x.calls
		case "p95":
			d = cmp.Compare(y.p95, x.p95)
		case "errors":
			d = y.errors - x.errors
		}
		return cmp.Or(d, cmp.Compare(a.Name, b.Name))
	})
	for _, s := range sorted {
		if !matches(filter, s.Name, s.Status) {
			continue
		}
		state, rate, p95, failed := plain, cell{"", plain}, cell{"", plain}, cell{"", plain}
		if s.Error != "" {
			state = bad
		}
		if l := loads[s.Name]; l.calls > 0 {
			rate.text, p95.text = fmt.Sprintf("%.1f", float64(l.calls)/window.Seconds()), short(l.p95)
			if l.errors > 0 {
				failed = cell{fmt.Sprint(l.errors), bad}
			}
		}
		list = append(list, row{s.Name, []cell{{s.Name, plain}, {s.Status, state}, {fmt.Sprint(s.Tools), plain}, rate, p95, failed}})
	}
	return list
}

func (r *record) executionRows(filter, order string, now time.Time) (list []row) {
	sorted := slices.SortedStableFunc(slices.Values(r.executions), func(a, b execution) int {
		d := 0
		switch order {
		case "longest":
			d = cmp.Compare(b.took(now), a.took(now))
		case "calls":
			d = b.Calls - a.Calls
		case "kept out":
			d = cmp.Compare(b.savedTokens(), a.savedTokens())
		default: // running ones come first
			d = btoi(b.Status == running) - btoi(a.Status == running)
		}
		return cmp.Or(d, b.Started.Compare(a.Started))
	})
	sorted = slices.DeleteFunc(sorted, func(e execution) bool { return !matches(filter, e.ID, e.client(), e.Status, e.Error) })
	var longest time.Duration
	for _, e := range sorted {
		longest = max(longest, e.took(now))
	}
	for _, e := range sorted {
		status, lane, kept := plain, dim, ""
		switch e.Status {
		case running:
			status, lane = live, live
		case "waiting":
			status = warn
		case "done":
		default:
			status = bad
		}
		if e.Status != running {
			kept = size(e.savedTokens())
		}
		width := columns[executionSection][6].width
		list = append(list, row{e.ID, []cell{{e.Started.Local().Format(time.TimeOnly), plain}, {e.client(), plain}, {e.Status, status}, {short(e.took(now)), plain}, {fmt.Sprint(e.Calls), plain}, {kept, plain},
			{bar(0, 0, e.took(now), longest, width), lane}}})
	}
	return list
}

func (r *record) writeRows(filter string) (list []row) {
	for _, c := range r.writes {
		if tool := c.Server + "." + c.Tool; matches(filter, tool, c.Client, c.Status, c.Class) {
			status := plain
			if c.Status != "ok" {
				status = bad
			}
			list = append(list, row{fmt.Sprint(c.N), []cell{{c.Started.Local().Format(time.TimeOnly), plain}, {c.Client, plain}, {tool, plain}, {c.Class, plain}, {c.Status, status}, {short(duration(c.MS)), plain}}})
		}
	}
	return list
}

// bar draws a time span, within the total time that width represents. Every span has at least one
// block; the waiting part is pale.
func bar(begin, waited, took, all time.Duration, width int) string {
	if all <= 0 || width <= 0 {
		return ""
	}
	at := func(d time.Duration) int { return int(min(1, max(0, d.Seconds()/all.Seconds())) * float64(width)) }
	from := min(at(begin), width-1)
	n := max(1, min(at(begin+took), width)-from)
	pale := min(max(0, at(begin+waited)-from), n-1)
	return strings.Repeat(" ", from) + strings.Repeat("░", pale) + strings.Repeat("█", n-pale)
}

// short formats a duration for comparison.
func short(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1fms", max(0, float64(d.Microseconds())/1000))
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

// size formats a number of tokens for comparison.
func size(n int64) string {
	switch {
	case n >= 10_000_000:
		return fmt.Sprintf("%dM", n/1_000_000)
	case n >= 10_000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprint(n)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
