package top

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.Local)

// busy is a model of a broker on which something is going on.
func busy() *model {
	m := &model{client: &client{}, section: executionSection, width: 80, height: 24, now: noon}
	m.command = func(do errand) tea.Cmd { return func() tea.Msg { return do(context.Background(), m.client) } }
	m.add(answer{
		Servers: []server{{Name: "github", Transport: "http", Status: "ready", Tools: 40}, {Name: "files", Transport: "stdio", Status: "failed", Error: "exit status 1"}, {Name: "slack", Status: "cached", Tools: 7}},
		Executions: []execution{
			{ID: "e_1", Client: "local", ClientInfo: "claude-code", Status: "done", Started: noon.Add(-50 * time.Second), MS: 2000, Calls: 2, BytesIn: 400_000, BytesOut: 4000},
			{ID: "e_2", Client: "ci", Status: "failed", ExitCode: 1, Started: noon.Add(-40 * time.Second), MS: 500, Calls: 1, BytesIn: 10},
			{ID: "e_3", Client: "cursor", Status: running, Started: noon.Add(-4 * time.Second), Calls: 3},
		},
		Calls: []call{
			{N: 1, Execution: "e_1", Client: "claude-code", Seq: 1, Server: "github", Tool: "list_issues", Class: "read", Status: "ok", Started: noon.Add(-50 * time.Second), MS: 1000},
			{N: 2, Execution: "e_1", Client: "claude-code", Seq: 2, Server: "slack", Tool: "post_message", Class: "write", Status: "ok", Started: noon.Add(-49 * time.Second), MS: 900},
			{N: 3, Execution: "e_2", Client: "ci", Seq: 1, Server: "github", Tool: "delete_branch", Class: "destructive", Status: "denied", Started: noon.Add(-40 * time.Second), MS: 1},
		},
	}, noon)
	return m
}

// press sends keys to the model as bubbletea does, and returns the last command.
func press(m *model, keys ...string) (last tea.Cmd) {
	for _, k := range keys {
		key := tea.Key{Text: k}
		if code, ok := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEsc, "backspace": tea.KeyBackspace, "down": tea.KeyDown, "tab": tea.KeyTab}[k]; ok {
			key = tea.Key{Code: code}
		}
		_, last = m.Update(tea.KeyPressMsg(key))
	}
	return last
}

// text is a screen without colours.
func text(lines []string) string {
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&b, "%s\n", strings.TrimRight(ansi.Strip(l), " "))
	}
	return b.String()
}

func TestScreen(t *testing.T) {
	m := busy()
	m.Runs = []run{{ID: "r_abcdefghijkl", Client: "cursor", Expires: noon.Add(10 * time.Minute), Calls: []runCall{{N: 1, Tool: "github__create_issue"}, {N: 2, Tool: "slack__post_message"}}}}
	const want = `broker  3 servers (1 failing)  1 running  0.1 calls/s  99k tokens kept out today
WAITING FOR YOU
  run        client         calls                                       expires
  r_abcdefg… cursor         2 calls: github__create_issue, slack__po…    10m00s

SERVERS
  server                          state         tools  calls/s      p95  errors
  files                           failed            0
  github                          ready            40      0.0     1.0s       1
  slack                           cached            7      0.0    900ms

▸ EXECUTIONS
  began    client            status          took  calls  kept out
> 11:59:56 cursor            running         4.0s      3           ████████████
  11:59:20 ci                failed         500ms      1         2 █
  11:59:10 claude-code       done            2.0s      2       99k ██████

LAST WRITES
  time     client         tool                  class       status         took
  11:59:20 ci             github.delete_branch  destructive denied        1.0ms
  11:59:11 claude-code    slack.post_message    write       ok            900ms


a approve  d deny  / filter  s sort  tab section  enter show  q quit
`
	if diff := cmp.Diff(want, text(m.lines())); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// Whatever the size, the screen is as high as the terminal, no row is wider, and what is chosen is
// visible.
func TestScreenFits(t *testing.T) {
	for width := minWidth; width < 130; width += 7 {
		for height := minHeight; height < 60; height += 5 {
			m := busy()
			m.width, m.height = width, height
			m.Runs = []run{{ID: "r_a", Calls: []runCall{{N: 1, Tool: strings.Repeat("long", 50)}}}}
			for i := range 100 {
				m.Servers = append(m.Servers, server{Name: fmt.Sprint("server", i)})
			}
			for section, key := range map[int]string{waitingSection: "r_a", serverSection: "server77", executionSection: "11:59:56", writeSection: "11:59:20"} {
				m.chosen[serverSection], m.section = "server77", section
				got := m.lines()
				if len(got) != height {
					t.Errorf("%d lines of %d", len(got), height)
				}
				for _, l := range got[1 : height-1] {
					if n := ansi.StringWidth(l); n > width {
						t.Errorf("%d cells of %d: %q", n, width, l)
					}
				}
				if !strings.Contains(text(got), "> "+key) {
					t.Errorf("%dx%d does not show what is chosen:\n%s", width, height, text(got))
				}
			}
		}
	}
}

// Nothing that servers, clients or scripts say steers the terminal.
func TestHostileText(t *testing.T) {
	const evil = "x\x1b]0;title\x07\x1b[2Jy\u202e\r\nz\u009b31m"
	m := busy()
	m.height = 40
	x := executionDetail{execution{ID: "e", Client: evil, Status: evil, Error: evil, Started: noon}, []call{{N: 9, Client: evil, Server: evil, Tool: evil, Class: evil, Status: evil, Error: evil, Started: noon}}}
	waiting := run{ID: evil, Client: evil, Calls: []runCall{{Tool: evil, Why: evil, Args: json.RawMessage(`{"a": "` + "\\u001b[2J\u202e" + `"}`)}}}
	m.add(answer{Servers: []server{{Name: evil, Status: evil, Error: evil}}, Executions: []execution{x.Execution}, Calls: x.Calls, Runs: []run{waiting}}, noon)
	d := serverDetail{Server: server{Name: evil, Error: evil}, Version: evil, Protocol: evil, Stderr: []string{evil}}
	screens := map[string][]string{"sections": m.lines(), "execution": x.lines(120, noon), "server": d.lines(120, noon), "run": waiting.lines(120, noon)}
	m.notice, m.problem = evil, evil
	screens["notice and problem"] = m.lines()
	m.notice, m.filter, m.typing = "", evil, true
	screens["filter"] = m.lines()
	m.page, m.typing = &page{title: evil, body: x.lines, code: evil, verb: evil, typed: evil}, false
	screens["page"] = m.lines()
	own := regexp.MustCompile("\x1b\\[[0-9]*m")
	for name, lines := range screens {
		for _, l := range lines {
			if got := own.ReplaceAllString(l, ""); strings.ContainsAny(got, "\x1b\x07\r\n\u202e\u009b") {
				t.Errorf("%s: %q", name, got)
			}
		}
	}
	if n := strings.Count(m.View().Content, "\n"); n != m.height-1 {
		t.Errorf("%d line breaks in %d lines", n, m.height)
	}
}

func TestWaterfall(t *testing.T) {
	x := executionDetail{execution{ID: "e_1", Client: "ci", Status: "failed", ExitCode: 1, Started: noon, MS: 1000, BytesIn: 4000, Error: "it threw"}, []call{
		{Seq: 1, Server: "github", Tool: "list_issues", Class: "read", Status: "ok", Started: noon, MS: 500, WaitedMS: 250},
		{Seq: 2, Server: "slack", Tool: "post", Class: "write", Status: "ok", Started: noon.Add(500 * time.Millisecond), MS: 250},
		{Seq: 3, Server: "slack", Tool: "post", Class: "write", Status: "error", Started: noon.Add(750 * time.Millisecond), MS: 250, Error: "no such channel"},
	}}
	const want = `failed, exit code 1, 1.0s, asked by ci at 2026-01-02 12:00:00
about 1000 tokens kept out of the model
it threw

                              0                                1.0s
   1 github.list_issues       ░░░░░░░░░█████████                       500ms
   2 slack.post       [write]                   █████████              250ms
   3 slack.post [write] error                            ██████████    250ms
     no such channel
`
	if diff := cmp.Diff(want, text(x.lines(76, noon))); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestFilterAndSort(t *testing.T) {
	m := busy()
	keys := func(section int) string {
		rows, _ := m.list(section)
		var list []string
		for _, r := range rows {
			list = append(list, r.key)
		}
		return strings.Join(list, " ")
	}
	check := func(section int, want string) {
		t.Helper()
		if got := keys(section); got != want {
			t.Errorf("%s are %s, want %s", sections[section].title, got, want)
		}
	}
	check(serverSection, "files github slack")
	check(executionSection, "e_3 e_2 e_1") // what runs is first
	check(writeSection, "3 2")
	m.section = serverSection
	for _, want := range []string{"github slack files", "github slack files", "github files slack", "files github slack"} { // calls, p95, errors, name
		press(m, "s")
		check(serverSection, want)
	}
	m.section = executionSection
	for _, want := range []string{"e_3 e_1 e_2", "e_3 e_1 e_2", "e_1 e_2 e_3"} { // longest, calls, kept out
		press(m, "s")
		check(executionSection, want)
	}
	press(m, "/", "G", "I", "T", "x", "backspace", "q") // q is a letter there
	if m.filter != "GITq" {
		t.Errorf("the filter is %q", m.filter)
	}
	press(m, "backspace", "enter")
	check(serverSection, "github")
	check(writeSection, "3")
	check(executionSection, "")
	press(m, "esc")
	check(serverSection, "files github slack")
}

// What is chosen stays chosen when rows come and go.
func TestChosenRowStays(t *testing.T) {
	m := busy()
	press(m, "down")
	rows, at := m.list(executionSection)
	was := rows[at].key
	m.add(answer{Executions: append(m.Executions, execution{ID: "e_9", Status: running, Started: noon})}, noon)
	if rows, now := m.list(executionSection); rows[now].key != was || now == at {
		t.Errorf("%s at %d is chosen, it was %s at %d", rows[now].key, now, was, at)
	}
}

// A call and an execution that are read again count once, calls leave the rates after a minute,
// and what an execution saves meanwhile is added.
func TestKnownNews(t *testing.T) {
	m := busy()
	saved, again := m.savedTokens, m.answer
	again.Executions = slices.Clone(again.Executions)
	m.add(again, noon)
	if m.savedTokens != saved || len(m.writes) != 2 || len(m.recent) != 3 || len(m.Executions) != 3 {
		t.Errorf("%d tokens, %d writes, %d calls, %d executions", m.savedTokens, len(m.writes), len(m.recent), len(m.Executions))
	}
	again.Executions = slices.Clone(again.Executions)
	again.Executions[0].BytesIn, again.Calls = 4000, nil
	m.add(again, noon.Add(15*time.Second))
	if m.savedTokens != saved+1000 || len(m.writes) != 2 || len(m.recent) != 1 {
		t.Errorf("%d tokens, %d writes, %d calls", m.savedTokens, len(m.writes), len(m.recent))
	}
}

// Nothing of what is to be approved is beyond the edge of the screen, which letters
// of Chinese, Japanese and Korean reach twice as soon.
func TestWideLetters(t *testing.T) {
	const hidden = "rm -rf"
	r := run{Calls: []runCall{{Tool: "t", Args: json.RawMessage(`{"a": "` + strings.Repeat("　", 40) + strings.Repeat("漢x", 31) + hidden + `"}`)}}}
	var all strings.Builder
	for _, l := range r.lines(80, noon) {
		var columns int
		painted := ansi.Strip(l)
		for _, c := range painted {
			if columns++; c == '　' || c == '漢' {
				columns++
			}
		}
		if all.WriteString(strings.TrimSpace(painted)); columns > 80 {
			t.Errorf("%d columns: %q", columns, painted)
		}
	}
	if !strings.Contains(all.String(), hidden) {
		t.Errorf("what is hidden is not shown: %q", all.String())
	}
	if got := pad("漢字漢字", 6); got != "漢字… " {
		t.Errorf("fit is %q", got)
	}
	// Terminals that join characters and those that do not show all of it.
	for _, text := range []string{strings.Repeat("👨‍👩‍👧‍👦", 30), strings.Repeat("❤️x", 40), strings.Repeat("e\u0301", 90), strings.Repeat("🇩🇪", 40)} {
		for _, l := range plain.wrapped(text, 40, "") {
			if ansi.StringWidth(l) > 40 || ansi.StringWidthWc(l) > 40 {
				t.Errorf("%d and %d cells: %q", ansi.StringWidth(l), ansi.StringWidthWc(l), ansi.Strip(l))
			}
		}
	}
}

// A terminal that is too small says so, however small it is.
func TestSmallTerminal(t *testing.T) {
	for _, size := range [][2]int{{30, 5}, {10, 1}, {2, 1}, {200, 9}} {
		m := busy()
		m.Update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		list := m.lines()
		got := strings.ReplaceAll(text(list), "\n", "")
		if len(list) > size[1] || !strings.HasPrefix(got, "t") || size[0] == 30 && !strings.Contains(got, "needs 40 columns and 10 lines") {
			t.Errorf("%v: %q", size, got)
		}
	}
}

// Only typing the shown code approves.
func TestQuestion(t *testing.T) {
	m := busy()
	if press(m, "a"); m.page != nil || m.notice == "" {
		t.Error("a question about nothing")
	}
	m.Runs = []run{{ID: "r_1", Calls: []runCall{{N: 1, Tool: "t", Args: json.RawMessage(`{"n": 1}`)}}}, {ID: "r_2"}}
	m.o.MayNot = "this is below claude"
	if press(m, "a"); m.page != nil || !strings.Contains(m.notice, "below claude") {
		t.Errorf("may not, but is asked: %q", m.notice)
	}
	m.o.MayNot = ""
	press(m, "a")
	if got := text(m.lines()); !strings.Contains(got, `"n": 1`) || !strings.Contains(got, "Type "+m.page.code+" and enter to approve") {
		t.Errorf("the question is\n%s", got)
	}
	for _, k := range []string{"a", "q", "enter", "d", "y"} {
		if press(m, k) != nil {
			t.Errorf("%s decides or quits", k)
		}
	}
	press(m, "esc", "a")
	asked := m.page
	if press(m, append(strings.Split(m.page.code, ""), "enter")...) == nil || m.page != nil {
		t.Error("the code decides nothing")
	}
	asked.load = nil
	press(m, "d")
	if m.page.verb != "deny" {
		t.Error("d approves")
	}
	if press(m, "esc"); m.page != nil {
		t.Error("esc does not go back")
	}
}

// A terminal sends keys as sequences, in pieces, of which bubbletea makes keys.
func TestQuitKeys(t *testing.T) {
	for _, tt := range []struct {
		keys  []string
		quits bool
	}{{[]string{"q"}, true}, {[]string{"/", "q"}, false}, {[]string{"a", "q"}, false}, {[]string{"down", "enter", "q"}, false}, {[]string{"down", "enter", "q", "q"}, true}} {
		m := busy()
		m.Runs = []run{{ID: "r_1", Calls: []runCall{{N: 1}}}}
		if _, quits := isQuit(press(m, tt.keys...)); quits != tt.quits {
			t.Errorf("%q quit: %v", tt.keys, quits)
		}
	}
}

func isQuit(cmd tea.Cmd) (msg tea.Msg, quits bool) {
	if cmd == nil {
		return nil, false
	}
	msg = cmd()
	_, quits = msg.(tea.QuitMsg)
	return msg, quits
}

func TestBar(t *testing.T) {
	for _, tt := range []struct {
		begin, took, all time.Duration
		want             string
	}{
		{0, 10, 10, "██████████"}, {5, 5, 10, "     █████"}, {0, 0, 10, "█"}, {10, 5, 10, "         █"}, {0, 1, 0, ""}, {-5, 5, 10, "█"}, {3, 100, 10, "   ███████"},
	} {
		if got := bar(tt.begin, 0, tt.took, tt.all, 10); got != tt.want {
			t.Errorf("bar(%d, %d, %d) = %q, want %q", tt.begin, tt.took, tt.all, got, tt.want)
		}
	}
}
