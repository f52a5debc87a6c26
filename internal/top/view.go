package top

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/words"
)

// A style is the code of the appearance of a text. Colour draws attention, and is never the only
// sign.
type style string

const (
	plain, bold, dim        style = "0", "1", "2"
	bad, warn, live, chosen style = "31", "33", "36", "7"
)

// of returns a text, which may be foreign, as one line of a terminal. Only it writes control
// sequences.
func (s style) of(text string) string {
	return "\x1b[" + string(s) + "m" + gate.Terminal(text) + "\x1b[m"
}

// styleOf returns the style of the status of an execution or a call.
func styleOf(status string) style {
	return cmp.Or(map[string]style{running: live, "waiting": warn, "done": plain, "ok": plain}[status], bad)
}

// pad returns a text in exactly width cells of a terminal, with a mark where it was cut. It is on
// the right if the width is negative.
func pad(text string, width int) string {
	text = ansi.Truncate(gate.Terminal(text), max(width, -width), "…")
	space := strings.Repeat(" ", max(width, -width)-ansi.StringWidth(text))
	if width < 0 {
		return space + text
	}
	return text + space
}

// wrapped splits a foreign text into lines of at most width cells, so that all of it is visible,
// whether or not the terminal joins characters.
func (s style) wrapped(text string, width int, margin string) (list []string) {
	if text == "" {
		return nil
	}
	width = max(2, width-len(margin))
	text = strings.ReplaceAll(gate.TerminalText(text), "\t", " ")
	for one := range strings.SplitSeq(ansi.HardwrapWc(ansi.Hardwrap(text, width, true), width, true), "\n") {
		list = append(list, s.of(margin+one))
	}
	return list
}

const (
	waitingSection, serverSection, executionSection, writeSection, sectionCount = 0, 1, 2, 3, 4
	minWidth, minHeight                                                         = 40, 10
	head                                                                        = 2 // the title of a section and the names of its columns
	barWidth                                                                    = 12
)

// A section is a list on the screen.
type section struct {
	title, empty string   // empty is shown without rows
	orders       []string // the first is the default
	names        []string // of the columns
	widths       []int    // negative on the right; 0 is the remaining space
	rows         func(*model) []row
}

// A row is an item that can be chosen.
type row struct {
	key    string // unique in its section
	text   string // contains the filter, or the row is not shown
	page   *page  // shows it; or nil
	cells  []string
	styles map[int]style // of single cells
	style  style         // of the others, if not plain
	rank   [4]float64    // in the orders of the section: the highest is first
}

// sections are the sections of the screen, from the top.
var sections = [sectionCount]section{
	{"WAITING FOR YOU", "", []string{"newest"},
		[]string{"run", "client", "calls", "expires"}, []int{10, 14, 0, -9}, (*model).waitingRows},
	{"SERVERS", "no servers: broker servers add, or broker import", []string{"name", "calls", "p95", "errors"},
		[]string{"server", "state", "tools", "calls/s", "p95", "errors"}, []int{0, 12, -6, -8, -8, -7}, (*model).serverRows},
	{"EXECUTIONS", "no script has run yet", []string{"newest", "longest", "calls", "kept out"},
		[]string{"began", "client", "status", "took", "calls", "kept out", ""}, []int{8, 0, 11, -8, -6, -9, barWidth}, (*model).executionRows},
	{"LAST WRITES", "nothing was written", []string{"newest"},
		[]string{"time", "client", "tool", "class", "status", "took"}, []int{8, 14, 0, 11, 10, -8}, (*model).writeRows},
}

// list returns the displayed rows of a section, and the index of the chosen one.
func (m *model) list(s int) (rows []row, at int) {
	rows = filtered(sections[s].rows(m), func(r row) bool { return strings.Contains(strings.ToLower(r.text), strings.ToLower(m.filter)) })
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(b.rank[m.order[s]], a.rank[m.order[s]]) })
	return rows, max(0, slices.IndexFunc(rows, func(r row) bool { return r.key == m.chosen[s] }))
}

func (m *model) waitingRows() (list []row) {
	for _, w := range m.Runs {
		var tools []string
		for _, c := range w.Calls {
			tools = append(tools, c.Tool)
		}
		cells := []string{w.ID, cmp.Or(w.Client, w.Principal), words.Count(len(tools), "call") + ": " + strings.Join(tools, ", "), short(w.Expires.Sub(m.now))}
		list = append(list, row{key: w.ID, text: strings.Join(cells[:3], "\n"), page: &page{title: "run " + w.ID, run: &w, body: w.lines}, cells: cells, styles: map[int]style{0: warn}})
	}
	return list
}

func (m *model) serverRows() (list []row) {
	took, failed := make(map[string][]float64), make(map[string]int)
	for _, c := range m.recent {
		if took[c.Server] = append(took[c.Server], c.MS); c.Status != "ok" {
			failed[c.Server]++
		}
	}
	for _, s := range m.Servers {
		r := row{key: s.Name, text: s.Name + "\n" + s.Status, page: newPage("server", "/api/servers/", s.Name, serverDetail.lines), cells: []string{s.Name, s.Status, fmt.Sprint(s.Tools), "", "", ""}, styles: map[int]style{1: map[bool]style{true: bad}[s.Error != ""], 5: bad}}
		if calls := took[s.Name]; len(calls) > 0 {
			slices.Sort(calls)
			p95 := duration(calls[(len(calls)*95+99)/100-1])
			r.cells[3], r.cells[4] = fmt.Sprintf("%.1f", float64(len(calls))/window.Seconds()), short(p95)
			r.rank = [4]float64{0, float64(len(calls)), float64(p95), float64(failed[s.Name])}
		}
		if n := failed[s.Name]; n > 0 {
			r.cells[5] = fmt.Sprint(n)
		}
		list = append(list, r)
	}
	return list
}

func (m *model) executionRows() (list []row) {
	var longest time.Duration
	for _, e := range m.Executions {
		longest = max(longest, e.took(m.now))
	}
	for _, e := range m.Executions {
		took, lane, kept, rank := e.took(m.now), dim, size(e.savedTokens()), 0.0
		if e.Status == running {
			lane, kept, rank = live, "", 1
		}
		list = append(list, row{key: e.ID, text: strings.Join([]string{e.ID, e.client(), e.Status, e.Error}, "\n"), page: newPage("execution", "/api/executions/", e.ID, executionDetail.lines), rank: [4]float64{rank, float64(took), float64(e.Calls), float64(e.savedTokens())},
			cells:  []string{e.Started.Local().Format(time.TimeOnly), e.client(), e.Status, short(took), fmt.Sprint(e.Calls), kept, bar(0, 0, took, longest, barWidth)},
			styles: map[int]style{2: styleOf(e.Status), 6: lane}})
	}
	return list
}

func (m *model) writeRows() (list []row) {
	for _, c := range m.writes {
		r := row{key: fmt.Sprint(c.N), cells: []string{c.Started.Local().Format(time.TimeOnly), c.Client, c.Server + "." + c.Tool, c.Class, c.Status, short(duration(c.MS))}, styles: map[int]style{4: styleOf(c.Status)}}
		if c.Execution != "" {
			r.page = newPage("execution", "/api/executions/", c.Execution, executionDetail.lines)
		}
		r.text = strings.Join(r.cells[1:5], "\n")
		list = append(list, r)
	}
	return list
}

// lines returns the screen: as many lines as it is high.
func (m *model) lines() []string {
	if m.width < minWidth || m.height < minHeight {
		note := plain.wrapped(fmt.Sprintf("too small: broker top needs %d columns and %d lines", minWidth, minHeight), m.width, "")
		return note[:min(len(note), m.height)]
	}
	body := m.sectionLines(m.height - 2)
	if m.page != nil {
		body = m.page.lines(m.width, m.height-2, m.now)
	}
	return slices.Concat([]string{m.header()}, body, make([]string, m.height-2-len(body)), []string{m.footer()})
}

// header returns the line with the most important figures.
func (m *model) header() string {
	switch {
	case m.problem != "":
		return bold.of("broker") + bad.of("  "+m.problem)
	case m.client == nil:
		return bold.of("broker") + dim.of("  connecting …")
	}
	failing := len(filtered(m.Servers, func(s server) bool { return s.Error != "" }))
	busy := len(filtered(m.Executions, func(e execution) bool { return e.Status == running }))
	return bold.of("broker") + plain.of("  "+words.Count(len(m.Servers), "server")) + bad.of(map[bool]string{true: fmt.Sprintf(" (%d failing)", failing)}[failing > 0]) +
		plain.of(fmt.Sprintf("  %d running  %.1f calls/s  %s tokens kept out today", busy, float64(len(m.recent))/window.Seconds(), size(m.savedTokens)))
}

// sectionLines returns the sections in a number of lines. The longest ones give way.
func (m *model) sectionLines(height int) (all []string) {
	var heights [sectionCount]int
	used := 0
	for s := range sections {
		rows, _ := m.list(s)
		if heights[s] = max(1, len(rows)) + head + 1; s == waitingSection { // with an empty line
			heights[s] = min(1, len(rows)) * (min(2, len(rows)) + head + 1)
		}
		used += heights[s]
	}
	for ; used > height; used-- {
		longest := (m.section + 1) % sectionCount
		for s, n := range heights {
			if n > heights[longest] && (s != m.section || n > head+1) {
				longest = s
			}
		}
		heights[longest]--
	}
	for s, n := range heights {
		all = append(all, slices.Concat(m.oneSection(s, max(0, n-head)), make([]string, n))[:n]...)
	}
	return all
}

// oneSection returns a section with space for a number of rows.
func (m *model) oneSection(s, space int) []string {
	rows, at := m.list(s)
	title, style := sections[s].title, dim
	if m.section == s {
		title, style = "▸ "+title, bold
	}
	if o := m.order[s]; o > 0 {
		title += " by " + sections[s].orders[o]
	}
	if m.filter != "" && s != waitingSection {
		title += fmt.Sprintf(" with %q", m.filter)
	}
	first := max(0, min(at-space/2, len(rows)-space))
	last := min(len(rows), first+space)
	if last-first < len(rows) {
		title += fmt.Sprintf("  %d to %d of %d", first+1, last, len(rows))
	}
	list := []string{style.of(title), m.rowLine(s, row{cells: sections[s].names, style: dim}, false)}
	if len(rows) == 0 {
		list = append(list, dim.of(map[bool]string{true: "  nothing matches; esc shows all", false: "  " + sections[s].empty}[m.filter != ""]))
	}
	for i := first; i < last; i++ {
		list = append(list, m.rowLine(s, rows[i], m.section == s && i == at))
	}
	return list
}

// rowLine returns a row. On a narrow terminal it has fewer columns.
func (m *model) rowLine(s int, r row, at bool) string {
	widths, left := sections[s].widths, m.width-2
	for _, width := range widths {
		left -= max(width, -width) + 1
	}
	for n := len(widths); left < 12 && n > 3; n = len(widths) {
		left += max(widths[n-1], -widths[n-1]) + 1
		widths = widths[:n-1]
	}
	var text strings.Builder
	text.WriteString(map[bool]string{true: bold.of("> "), false: "  "}[at])
	for i, width := range widths {
		style := cmp.Or(r.styles[i], r.style, plain)
		if at {
			style = chosen
		}
		text.WriteString(style.of(pad(r.cells[i], cmp.Or(width, max(1, left)))) + " ")
	}
	return text.String()
}

func (m *model) footer() string {
	switch {
	case m.notice != "":
		return warn.of(m.notice)
	case m.asking():
		return warn.of("Type " + m.page.code + " and enter to " + m.page.verb + ", esc to go back: " + m.page.typed)
	case m.page != nil:
		return dim.of("j k move  esc back")
	case m.typing:
		return bold.of("/"+m.filter+"█") + dim.of("  enter keeps it, esc shows all")
	case len(m.Runs) > 0:
		return dim.of("a approve  d deny  / filter  s sort  tab section  enter show  q quit")
	}
	return dim.of("/ filter  s sort  tab section  enter show  q quit")
}

// A page shows one item, or asks about it.
type page struct {
	title  string
	load   errand // reads what it shows; or nil
	body   func(width int, now time.Time) []string
	scroll int
	run    *run   // whose calls it shows, or nil
	code   string // decides about them when it is typed; "" if the page does not ask
	verb   string // approve or deny
	typed  string
}

// newPage returns a page that shows the item at a path of the interface in lines.
func newPage[T any](title, path, id string, lines func(item T, width int, now time.Time) []string) *page {
	p := &page{title: title + " " + id, body: func(int, time.Time) []string { return []string{dim.of("reading …")} }}
	p.load = func(ctx context.Context, c *client) change {
		var item T
		err := c.call(ctx, path+url.PathEscape(id), nil, &item)
		return func(m *model) {
			if err != nil {
				m.notice = err.Error()
			} else {
				p.body = func(width int, now time.Time) []string { return lines(item, width, now) }
			}
		}
	}
	return p
}

// lines returns the visible part of the page.
func (p *page) lines(width, height int, now time.Time) []string {
	body, title := p.body(width, now), p.title
	p.scroll = max(0, min(p.scroll, len(body)-(height-1)))
	end := min(len(body), p.scroll+height-1)
	if len(body) > height-1 {
		title += fmt.Sprintf("  lines %d to %d of %d", p.scroll+1, end, len(body))
	}
	return append([]string{bold.of(title)}, body[p.scroll:end]...)
}

// lines show when each call began and ended.
func (x executionDetail) lines(width int, now time.Time) []string {
	e, all := x.Execution, x.Execution.took(now)
	list := []string{styleOf(e.Status).of(e.Status) + plain.of(fmt.Sprintf(", exit code %d, %s, asked by %s at %s", e.ExitCode, short(all), e.client(), e.Started.Local().Format(time.DateTime))),
		plain.of(fmt.Sprintf("about %s tokens kept out of the model", size(e.savedTokens())))}
	if e.Status == running {
		list = []string{live.of(running) + plain.of(fmt.Sprintf(" for %s, asked by %s", short(all), e.client()))}
	}
	list = append(append(list, plain.wrapped(e.Error, width, "")...), "")
	if len(x.Calls) == 0 {
		return append(list, dim.of("this script has called no tools"))
	}
	for _, c := range x.Calls {
		all = max(all, c.ended().Sub(e.Started))
	}
	const took, number = 8, 4
	name := min(32, max(12, (width-took-number-3)*2/5))
	lane := width - name - took - number - 3
	list = append(list, dim.of(pad("", number+1+name+1)+pad("0", lane-took)+pad(short(all), -took)))
	for _, c := range x.Calls {
		mark, style := "", live
		if c.writes() {
			mark, style = " ["+c.Class+"]", warn
		}
		if c.Status != "ok" {
			mark, style = mark+" "+c.Status, bad
		}
		tool := c.Server + "." + c.Tool
		if len(tool)+len(mark) > name { // what it did is more than its server
			tool = c.Tool
		}
		list = append(list, dim.of(pad(fmt.Sprint(c.Seq), -number)+" ")+plain.of(pad(tool, max(4, name-len(mark))))+style.of(mark+" ")+
			style.of(pad(bar(c.Started.Sub(e.Started), duration(c.WaitedMS), duration(c.MS), all, lane), lane))+plain.of(" "+pad(short(duration(c.MS)), -took)))
		list = append(list, plain.wrapped(c.Error, width, strings.Repeat(" ", number+1))...)
	}
	return list
}

func (d serverDetail) lines(width int, _ time.Time) []string {
	list := []string{plain.of(fmt.Sprintf("%s over %s, %s", d.Server.Status, d.Server.Transport, words.Count(d.Server.Tools, "tool")))}
	if d.Version != "" {
		list = append(list, plain.of("version "+d.Version+", MCP "+cmp.Or(d.Protocol, "unknown")))
	}
	list = append(append(list, bad.wrapped(d.Server.Error, width, "")...), "")
	if len(d.Stderr) == 0 {
		return append(list, dim.of("it has written nothing to stderr"))
	}
	return append(append(list, dim.of("what it wrote to stderr last:")), plain.wrapped(strings.Join(d.Stderr, "\n"), width, "  ")...)
}

// lines show the waiting calls of a run in full: people must see what they approve.
func (r *run) lines(width int, _ time.Time) []string {
	list := []string{plain.of(fmt.Sprintf("asked by %s, until %s", cmp.Or(r.Client, r.Principal, "a client"), r.Expires.Local().Format(time.DateTime))), ""}
	for _, c := range r.Calls {
		list = append(list, bold.of(fmt.Sprintf("%d. %s", c.N, c.Tool))+plain.of(" ("+c.Why+")"))
		var pretty bytes.Buffer
		if json.Indent(&pretty, c.Args, "", "  ") == nil {
			list = append(list, plain.wrapped(pretty.String(), width, "   ")...)
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
	unit := ""
	for _, next := range []string{"k", "M"} {
		if n >= 10_000 {
			n, unit = n/1000, next
		}
	}
	return fmt.Sprint(n) + unit
}
