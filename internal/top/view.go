package top

import (
	"fmt"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/words"
)

const (
	minWidth  = 40
	minHeight = 10
)

// view returns the screen: height lines.
func (m *model) view(width, height int, now time.Time) []line {
	if width < minWidth || height < minHeight {
		note := wrapped(fmt.Sprintf("too small: broker top needs %d columns and %d lines", minWidth, minHeight), width, "")
		return note[:min(len(note), height)]
	}
	all := []line{m.header(now)}
	if m.page != nil {
		all = append(all, m.page.view(width, height-2, now)...)
	} else {
		heights := m.heights(height-2, now)
		used := 0
		for _, n := range heights {
			used += n
		}
		for section, n := range heights {
			if n == 0 {
				continue
			}
			if len(all) > 1 && used+sections <= height-2 { // there is room
				all = append(all, nil)
			}
			all = append(all, m.sectionView(section, width, n, now)...)
		}
	}
	for len(all) < height-1 {
		all = append(all, nil)
	}
	return append(all[:height-1], m.footer())
}

// header returns the line with the most important figures.
func (m *model) header(now time.Time) line {
	l := line{{"broker", bold}}
	if m.problem != "" {
		return append(l, cell{"  " + m.problem, bad})
	}
	if !m.loaded {
		return append(l, cell{"  connecting …", dim})
	}
	broken, busy, calls := 0, 0, 0
	for _, s := range m.servers {
		broken += btoi(s.Error != "")
	}
	for _, e := range m.executions {
		busy += btoi(e.Status == running)
	}
	for _, n := range m.loads(now) {
		calls += n.calls
	}
	l = append(l, cell{"  " + words.Count(len(m.servers), "server"), plain})
	if broken > 0 {
		l = append(l, cell{fmt.Sprintf(" (%d failing)", broken), bad})
	}
	l = append(l, cell{fmt.Sprintf("  %d running", busy), plain}, cell{fmt.Sprintf("  %.1f calls/s", float64(calls)/window.Seconds()), plain},
		cell{"  " + size(m.savedTokens) + " tokens kept out today", plain})
	return l
}

// heights returns the number of lines of each section, including its title and the names of its
// columns.
func (m *model) heights(lines int, now time.Time) (n [sections]int) {
	const head = 2
	want := [sections]int{}
	for s := range want {
		rows, _ := m.list(s, now)
		want[s] = max(1, len(rows)) + head
	}
	if len(m.waiting) > 0 {
		n[waitingSection] = min(want[waitingSection], 2+head)
		lines -= n[waitingSection]
	}
	n[writeSection] = min(want[writeSection], max(head+1, lines/4))
	n[serverSection] = min(want[serverSection], max(head+1, lines*2/5))
	n[executionSection] = max(0, min(want[executionSection], lines-n[writeSection]-n[serverSection]))
	free := lines - n[writeSection] - n[serverSection] - n[executionSection]
	for _, s := range []int{serverSection, writeSection} {
		more := max(0, min(free, want[s]-n[s]))
		n[s] += more
		free -= more
	}
	return n
}

// empty are the texts for sections without rows.
var empty = [sections]string{"", "no servers: broker servers add, or broker import", "no script has run yet", "nothing was written"}

func (m *model) sectionView(section, width, height int, now time.Time) []line {
	rows, at := m.list(section, now)
	here := section == m.section
	title := titles[section]
	if o := m.order[section]; o > 0 {
		title += " by " + orders[section][o]
	}
	if m.filter != "" && section != waitingSection {
		title += fmt.Sprintf(" with %q", m.filter)
	}
	style := dim
	if here {
		style, title = bold, "▸ "+title
	}
	space := height - 2
	first := max(0, min(at-space/2, len(rows)-space))
	last := min(len(rows), first+space)
	if last-first < len(rows) {
		title += fmt.Sprintf("  %d to %d of %d", first+1, last, len(rows))
	}
	list := []line{{{title, style}}, m.names(section, width)}
	if len(rows) == 0 {
		note := empty[section]
		if m.filter != "" {
			note = "nothing matches; esc shows all"
		}
		return append(list, line{{"  " + note, dim}})
	}
	for i := first; i < last; i++ {
		list = append(list, rowLine(section, rows[i], width, here && i == at))
	}
	return list
}

// fitted returns the widths of the columns of a section; 0 means hidden.
func fitted(section, width int) []column {
	list := append([]column{}, columns[section]...)
	left, flexible := width-2, -1
	for i, c := range list {
		if c.width == 0 {
			flexible = i
		}
		left -= c.width + 1
	}
	for i := len(list) - 1; left < 12 && i > 1; i-- {
		if i != flexible {
			left += list[i].width + 1
			list[i].width = 0
		}
	}
	list[flexible].width = max(1, left)
	return list
}

func (m *model) names(section, width int) line {
	r := row{}
	for _, c := range columns[section] {
		r.cell = append(r.cell, cell{c.name, dim})
	}
	return rowLine(section, r, width, false)
}

func rowLine(section int, r row, width int, at bool) line {
	l := line{{map[bool]string{true: "> ", false: "  "}[at], bold}}
	for i, c := range fitted(section, width) {
		if c.width == 0 {
			continue
		}
		style := r.cell[i].style
		if at {
			style = chosen
		}
		l = append(l, cell{pad(r.cell[i].text, c.width, c.right), style}, cell{" ", plain})
	}
	return l
}

func (m *model) footer() line {
	switch {
	case m.notice != "":
		return line{{m.notice, warn}}
	case m.page != nil && m.page.ask != nil:
		verb := map[bool]string{true: "approve", false: "deny"}[m.page.allow]
		return line{{"Type " + m.page.code + " and enter to " + verb + ", esc to go back: " + m.page.typed, warn}}
	case m.page != nil:
		return line{{"j k move  esc back", dim}}
	case m.typing:
		return line{{"/" + m.filter + "█", bold}, {"  enter keeps it, esc shows all", dim}}
	}
	keys := "/ filter  s sort  tab section  enter show  q quit"
	if len(m.waiting) > 0 {
		keys = "a approve  d deny  " + keys
	}
	return line{{keys, dim}}
}

// view returns the visible part of the page.
func (p *page) view(width, height int, now time.Time) []line {
	body := p.body(width, now)
	p.scroll = max(0, min(p.scroll, len(body)-(height-1)))
	title := p.title
	if len(body) > height-1 {
		title += fmt.Sprintf("  lines %d to %d of %d", p.scroll+1, min(len(body), p.scroll+height-1), len(body))
	}
	return append([]line{{{title, bold}}}, body[p.scroll:min(len(body), p.scroll+height-1)]...)
}
