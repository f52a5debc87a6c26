package top

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.Local)

// busy is a model of a broker on which something is going on.
func busy() *model {
	m := &model{loaded: true, section: executionSection}
	m.servers = []server{{Name: "github", Transport: "http", Status: "ready", Tools: 40}, {Name: "files", Transport: "stdio", Status: "failed", Error: "exit status 1"}, {Name: "slack", Status: "cached", Tools: 7}}
	m.add(news{
		Executions: []execution{
			{ID: "e_1", Client: "local", ClientInfo: "claude-code", Status: "done", Started: noon.Add(-50 * time.Second), MS: 2000, Calls: 2, BytesIn: 400_000, BytesOut: 4000},
			{ID: "e_2", Client: "ci", Status: "failed", ExitCode: 1, Started: noon.Add(-40 * time.Second), MS: 500, Calls: 1, BytesIn: 10},
			{ID: "e_3", Client: "cursor", Status: running, Started: noon.Add(-4 * time.Second), Calls: 3},
		},
		Calls: []call{
			{N: 1, Execution: "e_1", Client: "claude-code", Seq: 1, Server: "github", Tool: "list_issues", Class: read, Status: "ok", Started: noon.Add(-50 * time.Second), MS: 1000},
			{N: 2, Execution: "e_1", Client: "claude-code", Seq: 2, Server: "slack", Tool: "post_message", Class: "write", Status: "ok", Started: noon.Add(-49 * time.Second), MS: 900},
			{N: 3, Execution: "e_2", Client: "ci", Seq: 1, Server: "github", Tool: "delete_branch", Class: "destructive", Status: "denied", Started: noon.Add(-40 * time.Second), MS: 1},
		},
	})
	return m
}

// text is a screen without colours.
func text(lines []line, width int) string {
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&b, "%s\n", strings.TrimRight(l.paint(width, false), " "))
	}
	return b.String()
}

func TestScreen(t *testing.T) {
	m := busy()
	m.waiting = []run{{ID: "r_abcdefghijkl", Client: "cursor", Expires: noon.Add(10 * time.Minute), calls: []runCall{{N: 1, Tool: "github__create_issue"}, {N: 2, Tool: "slack__post_message"}}}}
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
	if diff := cmp.Diff(want, text(m.view(80, 24, noon), 80)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// Whatever the size, the screen is as high as the terminal and no line is wider.
func TestScreenFits(t *testing.T) {
	for width := minWidth; width < 130; width += 7 {
		for height := minHeight; height < 60; height += 5 {
			m := busy()
			m.waiting = []run{{ID: "r_a", calls: []runCall{{N: 1, Tool: strings.Repeat("long", 50)}}}}
			for i := range 100 {
				m.servers = append(m.servers, server{Name: fmt.Sprint("server", i)})
			}
			m.chosen[serverSection], m.section = "server77", serverSection
			got := m.view(width, height, noon)
			if len(got) != height {
				t.Errorf("%d lines of %d", len(got), height)
			}
			for _, l := range got {
				if n := utf8.RuneCountInString(l.paint(1000, false)); n > width && n > len("broker  103 servers (1 failing)  1 running  0.1 calls/s  99k tokens kept out today") {
					t.Errorf("%d characters of %d: %q", n, width, l.paint(1000, false))
				}
			}
			if !strings.Contains(text(got, width), "> server77") {
				t.Errorf("%dx%d does not show what is chosen:\n%s", width, height, text(got, width))
			}
		}
	}
}

// Nothing that servers, clients or scripts say steers the terminal.
func TestHostileText(t *testing.T) {
	const evil = "x\x1b]0;title\x07\x1b[2Jy\u202e\r\nz\u009b31m"
	m := busy()
	m.servers = append(m.servers, server{Name: evil, Status: evil, Error: evil})
	m.add(news{Executions: []execution{{ID: "e", Client: evil, Status: evil, Started: noon}}, Calls: []call{{N: 9, Client: evil, Server: evil, Tool: evil, Class: evil, Status: evil}}})
	m.waiting = []run{{ID: evil, Client: evil, calls: []runCall{{Tool: evil, Why: evil, Args: json.RawMessage(`{"a": "` + "\\u001b[2J\u202e" + `"}`)}}}}
	m.notice, m.problem = evil, evil
	x := executionDetail{execution{ID: "e", Client: evil, Error: evil}, []call{{Server: evil, Tool: evil, Class: evil, Status: evil, Error: evil}}}
	d := serverDetail{Server: server{Name: evil, Error: evil}, Version: evil, Stderr: []string{evil}}
	for _, lines := range [][]line{m.view(120, 40, noon), x.waterfall(120, noon), d.lines(120), m.waiting[0].lines(120)} {
		for _, l := range lines {
			if got := l.paint(120, false); strings.ContainsAny(got, "\x1b\x07\r\n\u202e\u009b") {
				t.Errorf("%q", got)
			}
			if got := l.paint(120, true); strings.Contains(got, "\x1b[2J") || strings.Contains(got, "\x1b]") {
				t.Errorf("%q", got)
			}
		}
	}
}

func TestWaterfall(t *testing.T) {
	x := executionDetail{execution{ID: "e_1", Client: "ci", Status: "failed", ExitCode: 1, Started: noon, MS: 1000, BytesIn: 4000, Error: "it threw"}, []call{
		{Seq: 1, Server: "github", Tool: "list_issues", Class: read, Status: "ok", Started: noon, MS: 500, WaitedMS: 250},
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
	if diff := cmp.Diff(want, text(x.waterfall(76, noon), 76)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestFilterAndSort(t *testing.T) {
	m := busy()
	keys := func(section int) string {
		rows, _ := m.list(section, noon)
		var list []string
		for _, r := range rows {
			list = append(list, r.key)
		}
		return strings.Join(list, " ")
	}
	check := func(section int, want string) {
		t.Helper()
		if got := keys(section); got != want {
			t.Errorf("%s are %s, want %s", titles[section], got, want)
		}
	}
	check(serverSection, "files github slack")
	check(executionSection, "e_3 e_2 e_1") // what runs is first
	check(writeSection, "3 2")
	m.section = serverSection
	for _, want := range []string{"github slack files", "github slack files", "github files slack", "files github slack"} { // calls, p95, errors, name
		m.key("s")
		check(serverSection, want)
	}
	m.section = executionSection
	for _, want := range []string{"e_3 e_1 e_2", "e_3 e_1 e_2", "e_1 e_2 e_3"} { // longest, calls, kept out
		m.key("s")
		check(executionSection, want)
	}
	for _, k := range []string{"/", "G", "I", "T", "x", "backspace", "q"} { // q is a letter there
		m.key(k)
	}
	if m.filter != "GITq" {
		t.Errorf("the filter is %q", m.filter)
	}
	m.key("backspace")
	m.key("enter")
	check(serverSection, "github")
	check(writeSection, "3")
	check(executionSection, "")
	m.key("esc")
	check(serverSection, "files github slack")
}

// What is chosen stays chosen when rows come and go.
func TestChosenRowStays(t *testing.T) {
	m := busy()
	m.add(news{Executions: []execution{{ID: "e_0", Status: "done", Started: time.Now()}}})
	m.key("down")
	rows, at := m.list(executionSection, time.Now())
	was := rows[at].key
	m.add(news{Executions: []execution{{ID: "e_9", Status: running, Started: time.Now()}}})
	if rows, now := m.list(executionSection, time.Now()); rows[now].key != was || now == at {
		t.Errorf("%s at %d is chosen, it was %s at %d", rows[now].key, now, was, at)
	}
}

// A call and an execution that are read twice count once.
func TestNewsThatAreKnown(t *testing.T) {
	m := busy()
	kept, writes, recent := m.savedTokens, len(m.writes), len(m.recent)
	m.add(news{Executions: []execution{m.executions[2]}, Calls: slices.Clone(m.recent)})
	if m.savedTokens != kept || len(m.writes) != writes || len(m.recent) != recent || len(m.executions) != 3 {
		t.Errorf("%d tokens, %d writes, %d calls, %d executions", m.savedTokens, len(m.writes), len(m.recent), len(m.executions))
	}
	if l := m.loads(noon.Add(2 * window)); len(l) != 0 {
		t.Errorf("after two minutes there is %v", l)
	}
}

// Nothing of what is to be approved is beyond the edge of the screen, which letters
// of Chinese, Japanese and Korean reach twice as soon.
func TestWideLetters(t *testing.T) {
	const hidden = "rm -rf"
	r := run{calls: []runCall{{Tool: "t", Args: json.RawMessage(`{"a": "` + strings.Repeat("　", 40) + strings.Repeat("漢x", 31) + hidden + `"}`)}}}
	var all strings.Builder
	for _, l := range r.lines(80) {
		var columns int
		painted := l.paint(80, false)
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
	if got := pad("漢字漢字", 6, false); got != "漢字… " {
		t.Errorf("fit is %q", got)
	}
}

// A terminal that is too small says so, however small it is.
func TestSmallTerminal(t *testing.T) {
	for _, size := range [][2]int{{30, 5}, {10, 1}, {2, 1}, {200, 9}} {
		list := busy().view(size[0], size[1], noon)
		got := text(list, size[0])
		if len(list) > size[1] || !strings.HasPrefix(strings.ReplaceAll(got, "\n", ""), "t") {
			t.Errorf("%v: %q", size, got)
		}
		if size[0] == 30 && !strings.Contains(strings.ReplaceAll(got, "\n", ""), "needs 40 columns and 10 lines") {
			t.Errorf("%v: %q", size, got)
		}
	}
}

// Only typing the shown code approves.
func TestQuestion(t *testing.T) {
	m := busy()
	if m.key("a"); m.page != nil || m.notice == "" {
		t.Error("a question about nothing")
	}
	m.waiting = []run{{ID: "r_1", calls: []runCall{{N: 1, Tool: "t", Args: json.RawMessage(`{"n": 1}`)}}}, {ID: "r_2"}}
	m.cannotDecide = "this is below claude"
	if m.key("a"); m.page != nil || !strings.Contains(m.notice, "below claude") {
		t.Errorf("may not, but is asked: %q", m.notice)
	}
	m.cannotDecide = ""
	m.key("a")
	if got := text(m.view(80, 24, noon), 80); !strings.Contains(got, `"n": 1`) || !strings.Contains(got, "Type "+m.page.code+" and enter to approve") {
		t.Errorf("the question is\n%s", got)
	}
	for _, k := range []string{"a", "q", "enter"} {
		if quit, do := m.key(k); quit || do != nil {
			t.Errorf("%s decides", k)
		}
	}
	for _, k := range m.page.code {
		m.key(string(k))
	}
	if _, do := m.key("enter"); do == nil || m.page != nil {
		t.Error("the code decides nothing")
	}
	m.key("d")
	if m.page.allow {
		t.Error("d approves")
	}
	if m.openPage(&page{title: "late"}); m.page.ask == nil {
		t.Error("a page that was asked for before hides the question")
	}
	if m.key("esc"); m.page != nil {
		t.Error("esc does not go back")
	}
}

func TestKeys(t *testing.T) {
	got := strings.Join(parseKeys("a\x1b[A\x1b[1;5Cü\x03\r\t\x7f\x1bOB\x1b[Z\x1b[200~\x1b"), " ")
	if want := "a up ü ctrl+c enter tab backspace down shift+tab esc"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
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
