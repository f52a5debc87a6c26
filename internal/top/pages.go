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

	"github.com/mcpbroker/mcpbroker/internal/words"
)

// showExecution requests an execution with its calls.
func showExecution(id string) errand {
	return func(ctx context.Context, c *client) change {
		var x executionDetail
		err := c.get(ctx, "executions/"+url.PathEscape(id), &x)
		return func(m *model) {
			if err != nil {
				m.notice = err.Error()
				return
			}
			p := &page{title: "execution " + x.Execution.ID, execution: x.Execution.ID, body: x.waterfall}
			if m.page != nil && m.page.execution == p.execution { // it has changed
				p.scroll = m.page.scroll
			}
			m.openPage(p)
		}
	}
}

// openPage opens a requested page. A question that was opened meanwhile stays, since keys are
// meant for it.
func (m *model) openPage(p *page) {
	if m.page == nil || m.page.ask == nil {
		m.page = p
	}
}

// refresh reads the open page again if news concern it.
func (m *model) refresh(n news) errand {
	if m.page == nil || m.page.execution == "" {
		return nil
	}
	id := m.page.execution
	if !slices.ContainsFunc(n.Executions, func(e execution) bool { return e.ID == id }) && !slices.ContainsFunc(n.Calls, func(c call) bool { return c.Execution == id }) {
		return nil
	}
	read := showExecution(id)
	return func(ctx context.Context, c *client) change {
		shown := read(ctx, c)
		return func(m *model) {
			if m.page != nil && m.page.execution == id { // it is still open
				shown(m)
			}
		}
	}
}

type executionDetail struct {
	Execution execution `json:"execution"`
	Calls     []call    `json:"calls"`
}

// waterfall shows when each call began and ended.
func (x executionDetail) waterfall(width int, now time.Time) []line {
	e := x.Execution
	style := plain
	if e.Status != "done" && e.Status != running {
		style = bad
	}
	list := []line{{{e.Status, style}, {fmt.Sprintf(", exit code %d, %s, asked by %s at %s", e.ExitCode, short(e.took(now)), e.client(), e.Started.Local().Format(time.DateTime)), plain}}}
	if e.Status == running {
		list[0] = line{{running, live}, {fmt.Sprintf(" for %s, asked by %s", short(e.took(now)), e.client()), plain}}
	}
	if e.Status != running {
		list = append(list, line{{fmt.Sprintf("about %s tokens kept out of the model", size(e.savedTokens())), plain}})
	}
	if e.Error != "" {
		list = append(list, wrapped(e.Error, width, "")...)
	}
	list = append(list, nil)
	if len(x.Calls) == 0 {
		return append(list, line{{"this script has called no tools", dim}})
	}
	all := e.took(now)
	for _, c := range x.Calls {
		all = max(all, c.ended().Sub(e.Started))
	}
	const took, number = 8, 4
	name := min(32, max(12, (width-took-number-3)*2/5))
	lane := width - name - took - number - 3
	list = append(list, line{{pad("", number+1+name+1, false), plain}, {pad("0", lane-took, false), dim}, {pad(short(all), took, true), dim}})
	for _, c := range x.Calls {
		style := live
		mark := ""
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
		list = append(list, line{{pad(fmt.Sprint(c.Seq), number, true) + " ", dim}, {pad(tool, max(4, name-len(mark)), false), plain}, {mark, style}, {" ", plain},
			{pad(bar(c.Started.Sub(e.Started), duration(c.WaitedMS), duration(c.MS), all, lane), lane, false), style}, {" " + pad(short(duration(c.MS)), took, true), plain}})
		if c.Error != "" {
			list = append(list, wrapped(c.Error, width, strings.Repeat(" ", number+1))...)
		}
	}
	return list
}

// showServer requests the details of a server.
func showServer(name string) errand {
	return func(ctx context.Context, c *client) change {
		var d serverDetail
		err := c.get(ctx, "servers/"+url.PathEscape(name), &d)
		return func(m *model) {
			if err != nil {
				m.notice = err.Error()
				return
			}
			m.openPage(&page{title: "server " + d.Server.Name, body: func(width int, _ time.Time) []line { return d.lines(width) }})
		}
	}
}

func (d serverDetail) lines(width int) []line {
	list := []line{{{fmt.Sprintf("%s over %s, %s", d.Server.Status, d.Server.Transport, words.Count(d.Server.Tools, "tool")), plain}}}
	if d.Version != "" {
		list = append(list, line{{strings.TrimSpace("version " + d.Version + ", MCP " + cmp.Or(d.Protocol, "unknown")), plain}})
	}
	if d.Server.Error != "" {
		list = append(list, wrapped(d.Server.Error, width, "")...)
		list[len(list)-1][0].style = bad
	}
	list = append(list, nil)
	if len(d.Stderr) == 0 {
		return append(list, line{{"it has written nothing to stderr", dim}})
	}
	list = append(list, line{{"what it wrote to stderr last:", dim}})
	for _, one := range d.Stderr {
		list = append(list, wrapped(one, width, "  ")...)
	}
	return list
}

// lines returns the waiting calls of a run, in full: people must see what they approve.
func (r run) lines(width int) []line {
	list := []line{{{fmt.Sprintf("asked by %s, until %s", cmp.Or(r.Client, r.Principal, "a client"), r.Expires.Local().Format(time.DateTime)), plain}}, nil}
	for _, c := range r.calls {
		list = append(list, line{{fmt.Sprintf("%d. %s", c.N, c.Tool), bold}, {" (" + c.Why + ")", plain}})
		var pretty bytes.Buffer
		if len(c.Args) > 0 && json.Indent(&pretty, c.Args, "", "  ") == nil {
			list = append(list, wrapped(pretty.String(), width, "   ")...)
		}
	}
	return list
}

// decide approves or denies the calls of a run that were shown.
func decide(r run, allow bool) errand {
	return func(ctx context.Context, c *client) change {
		body := struct {
			Approve bool     `json:"approve"`
			Calls   []int    `json:"calls"`
			Digests []string `json:"digests"`
		}{Approve: allow}
		for _, one := range r.calls {
			body.Calls, body.Digests = append(body.Calls, one.N), append(body.Digests, one.Digest)
		}
		err := c.post(ctx, "runs/"+url.PathEscape(r.ID)+"/decide", body)
		return func(m *model) {
			if err != nil {
				m.notice = err.Error()
				return
			}
			m.waiting = slices.DeleteFunc(m.waiting, func(w run) bool { return w.ID == r.ID })
			if m.section == waitingSection && len(m.waiting) == 0 {
				m.section = executionSection
			}
			m.notice = map[bool]string{true: "approved ", false: "denied "}[allow] + words.Count(len(r.calls), "call") + "; to go on: broker runs resume " + r.ID
		}
	}
}
