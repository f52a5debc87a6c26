package top

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A change is the result of a request to the broker.
type change func(m *model)

// An errand makes a request to the broker in the background.
type errand func(ctx context.Context, c *client) change

// A model is the content of the screen. It belongs to one goroutine.
type model struct {
	record
	cannotDecide string // why nothing can be approved or denied here, or ""

	problem string // why there is no news
	notice  string // the result of the last key
	loaded  bool

	section int
	chosen  [sections]string // keys of rows; "" is the first row
	order   [sections]int
	filter  string
	typing  bool // the filter is being typed

	page *page // shown instead of the sections
}

// A page shows one item, or asks about it.
type page struct {
	title     string
	execution string // the execution that it shows, which changes while it runs
	body      func(width int, now time.Time) []line
	scroll    int

	ask   *run // the run whose calls the question is about
	allow bool // the meaning of yes
	code  string
	typed string
}

// key handles a key.
func (m *model) key(k string) (quit bool, do errand) {
	if k == "ctrl+c" {
		return true, nil
	}
	m.notice = ""
	switch {
	case m.page != nil && m.page.ask != nil:
		return false, m.answerKey(k)
	case m.page != nil:
		m.pageKey(k)
		return false, nil
	case m.typing:
		m.filterKey(k)
		return false, nil
	}
	switch k {
	case "q":
		return true, nil
	case "esc":
		m.filter = ""
	case "/":
		m.typing = true
	case "s":
		m.order[m.section] = (m.order[m.section] + 1) % len(orders[m.section])
	case "tab":
		m.turn(1)
	case "shift+tab":
		m.turn(sections - 1)
	case "a", "d":
		m.question(k == "a")
	case "enter":
		return false, m.open()
	default:
		m.move(k)
	}
	return false, nil
}

// turn moves to another section. The waiting section exists only while something waits.
func (m *model) turn(by int) {
	m.section = (m.section + by) % sections
	if m.section == waitingSection && len(m.waiting) == 0 {
		m.section = (m.section + by) % sections
	}
}

func (m *model) filterKey(k string) {
	switch k {
	case "enter":
		m.typing = false
	case "esc":
		m.typing, m.filter = false, ""
	default:
		m.filter = typed(m.filter, k)
	}
}

// typed returns text after a key.
func typed(text, k string) string {
	switch r := []rune(text); {
	case k == "backspace":
		return string(r[:max(0, len(r)-1)])
	case len([]rune(k)) == 1 && len(r) < 60:
		return text + k
	}
	return text
}

// list returns the displayed rows of a section, and the index of the chosen one.
func (m *model) list(section int, now time.Time) (rows []row, at int) {
	rows = m.rows(section, m.filter, orders[section][m.order[section]], now)
	return rows, max(0, slices.IndexFunc(rows, func(r row) bool { return r.key == m.chosen[section] }))
}

const pageful = 10

// step returns the number of lines that a key moves down; ok is false for other keys.
func step(k string) (by int, ok bool) {
	by, ok = map[string]int{"up": -1, "k": -1, "down": 1, "j": 1, "pgup": -pageful, "pgdown": pageful, " ": pageful, "home": -1 << 30, "g": -1 << 30, "end": 1 << 30, "G": 1 << 30}[k]
	return by, ok
}

func (m *model) move(k string) {
	by, ok := step(k)
	rows, at := m.list(m.section, time.Now())
	if ok && len(rows) > 0 {
		m.chosen[m.section] = rows[min(max(at+by, 0), len(rows)-1)].key
	}
}

func (m *model) pageKey(k string) {
	switch by, ok := step(k); {
	case k == "q", k == "esc", k == "enter":
		m.page = nil
	case ok:
		m.page.scroll = max(0, m.page.scroll+by) // the view limits it to the end
	case k == "a", k == "d":
		m.page = nil
		m.question(k == "a")
	}
}

// open shows the chosen row.
func (m *model) open() errand {
	rows, at := m.list(m.section, time.Now())
	if len(rows) == 0 {
		return nil
	}
	key := rows[at].key
	switch m.section {
	case waitingSection:
		m.showWaiting(key)
	case serverSection:
		return showServer(key)
	case executionSection:
		return showExecution(key)
	case writeSection:
		i := slices.IndexFunc(m.writes, func(c call) bool { return fmt.Sprint(c.N) == key })
		if id := m.writes[i].Execution; id != "" {
			return showExecution(id)
		}
		m.notice = "this call was made by no script"
	}
	return nil
}

func (m *model) showWaiting(id string) {
	if i := slices.IndexFunc(m.waiting, func(r run) bool { return r.ID == id }); i >= 0 {
		r := m.waiting[i]
		m.page = &page{title: "run " + r.ID, body: func(width int, _ time.Time) []line { return r.lines(width) }}
	}
}

// question asks about the chosen waiting run.
func (m *model) question(allow bool) {
	rows, at := m.list(waitingSection, time.Now())
	verb := map[bool]string{true: "approve", false: "deny"}[allow]
	switch {
	case len(rows) == 0:
		m.notice = "nothing waits for a decision"
		return
	case m.cannotDecide != "":
		m.notice = "you cannot " + verb + " here: " + m.cannotDecide
		return
	}
	m.showWaiting(rows[at].key)
	i := slices.IndexFunc(m.waiting, func(r run) bool { return r.ID == rows[at].key })
	ask := m.waiting[i]
	m.page.ask, m.page.allow, m.page.code = &ask, allow, strings.ToLower(rand.Text()[:4])
}

// answerKey handles a key during a question: the person must type a code, so that a repeated key
// decides nothing.
func (m *model) answerKey(k string) errand {
	p := m.page
	by, moves := step(k)
	switch {
	case k == "esc":
		m.page, m.notice = nil, "nothing was decided"
	case moves && len(k) > 1:
		p.scroll = max(0, p.scroll+by)
	case k != "enter":
		p.typed = typed(p.typed, k)
	case strings.ToLower(strings.TrimSpace(p.typed)) != p.code:
		p.typed, m.notice = "", "that is not the code: nothing was decided"
	default:
		m.page = nil
		return decide(*p.ask, p.allow)
	}
	return nil
}
