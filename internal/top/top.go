// Package top is the full-screen view of a broker: servers, executions, the last writes, and runs
// that wait for a person. It reads the same HTTP interface as the console.
//
// Keys and answers of the broker change a model, and its lines are independent of terminals:
// bubbletea reads keys and writes what has changed.
package top

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"

	"github.com/mcpbroker/mcpbroker/internal/outbound"
	"github.com/mcpbroker/mcpbroker/internal/words"
)

// Options configure a view.
type Options struct {
	In, Out *os.File // the terminal
	Colour  bool     // enables colours and other attributes
	// Connect returns an address of a console with its token, which is good for one connection.
	Connect func() (string, error)
	// MayNot is the reason nothing can be approved or denied here, or "".
	MayNot string
	// Notes receive the messages of the process, which must not print them; it may be nil.
	Notes *Notes
}

// Notes keep what was written last.
type Notes struct{ last atomic.Value }

// Write implements io.Writer.
func (n *Notes) Write(p []byte) (int, error) {
	n.last.Store(string(p))
	return len(p), nil
}

const frameEvery, pollEvery = 250 * time.Millisecond, 500 * time.Millisecond // of redrawing what runs, and of asking

// Run shows the view until the person quits, ctx is done, or the terminal is gone.
func Run(ctx context.Context, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m := &model{o: o, section: executionSection}
	m.command = func(do errand) tea.Cmd {
		c := m.client
		return func() tea.Msg { return do(ctx, c) }
	}
	p := tea.NewProgram(m, tea.WithInput(o.In), tea.WithOutput(o.Out), tea.WithoutSignalHandler(), tea.WithFPS(30))
	defer context.AfterFunc(ctx, p.Quit)() // WithContext would not wait for what reads the terminal
	_, err := p.Run()
	return err
}

// An errand makes requests to the broker in the background, and returns what their answers change.
type errand func(ctx context.Context, c *client) change
type change func(m *model)

// A model is the content of the screen. It belongs to one goroutine.
type model struct {
	o       Options
	command func(errand) tea.Cmd
	record
	client                 *client   // of the current connection, or nil
	polling                bool      // an answer is awaited
	polled, now            time.Time // when it was asked for, and the time that is displayed
	problem                string    // why there is no news
	notice                 string    // the result of the last key
	width, height, section int
	chosen                 [sectionCount]string // keys of rows; "" is the first row
	order                  [sectionCount]int
	filter                 string
	typing                 bool  // the filter is being typed
	page                   *page // shown instead of the sections
}

// Init implements tea.Model, as do Update and View.
func (m *model) Init() tea.Cmd { return func() tea.Msg { return time.Now() } }

func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case change:
		msg(m)
	case time.Time:
		if !term.IsTerminal(int(m.o.Out.Fd())) { // it is gone
			return m, tea.Quit
		}
		m.now = msg
		if m.o.Notes != nil && m.notice == "" {
			m.notice, _ = m.o.Notes.last.Swap("").(string) // nothing yet
		}
		next := []tea.Cmd{tea.Tick(frameEvery, func(now time.Time) tea.Msg { return now })}
		if !m.polling && m.now.Sub(m.polled) >= pollEvery {
			m.polling, m.polled = true, m.now
			if next = append(next, m.command(m.poll)); m.page != nil && m.page.load != nil {
				next = append(next, m.command(m.page.load))
			}
		}
		return m, tea.Batch(next...)
	case tea.KeyPressMsg:
		k := cmp.Or(msg.Text, msg.Keystroke())
		if k == "ctrl+c" || k == "q" && m.page == nil && !m.typing {
			return m, tea.Quit
		}
		if do := m.key(k); do != nil {
			return m, m.command(do)
		}
	}
	return m, nil
}

func (m *model) View() tea.View {
	content := strings.Join(m.lines(), "\n")
	if !m.o.Colour {
		content = ansi.Strip(content)
	}
	return tea.View{Content: content, AltScreen: true, DisableBracketedPasteMode: true}
}

// poll connects if necessary, and reads what the sections show.
func (m *model) poll(ctx context.Context, c *client) change {
	var err error
	if c == nil {
		c, err = connect(ctx, m.o.Connect)
	}
	var now answer
	if err == nil {
		now, err = c.read(ctx)
	}
	return func(m *model) {
		if m.polling = false; err != nil {
			m.client, m.problem = nil, "trying again: "+err.Error()
			return
		}
		if m.client != c {
			m.record = record{answer: now, savedTokens: c.savedTokens}
		}
		m.client, m.problem = c, ""
		m.add(now, time.Now())
		if m.section == waitingSection && len(m.Runs) == 0 {
			m.section = executionSection
		}
	}
}

// steps are the numbers of lines that keys move down.
var steps = map[string]int{"up": -1, "k": -1, "down": 1, "j": 1, "pgup": -10, "pgdown": 10, " ": 10, "home": -1 << 30, "g": -1 << 30, "end": 1 << 30, "G": 1 << 30}

func (m *model) asking() bool { return m.page != nil && m.page.code != "" }

// key handles a key.
func (m *model) key(k string) errand {
	m.notice = ""
	by, moves := steps[k]
	switch p := m.page; {
	case m.asking():
		return m.answerKey(k)
	case (k == "a" || k == "d") && (p != nil || !m.typing):
		m.question(map[string]string{"a": "approve", "d": "deny"}[k])
	case p != nil && (k == "q" || k == "esc" || k == "enter"):
		m.page = nil
	case p != nil:
		p.scroll += by // its lines limit it
	case k == "esc":
		m.typing, m.filter = false, ""
	case m.typing:
		m.typing, m.filter = k != "enter", typed(m.filter, k)
	case k == "/":
		m.typing = true
	case k == "s":
		m.order[m.section] = (m.order[m.section] + 1) % len(sections[m.section].orders)
	case k == "tab", k == "shift+tab":
		by = map[string]int{"tab": 1, "shift+tab": sectionCount - 1}[k]
		if m.section = (m.section + by) % sectionCount; m.section == waitingSection && len(m.Runs) == 0 {
			m.section = (m.section + by) % sectionCount
		}
	default:
		switch rows, at := m.list(m.section); {
		case len(rows) == 0:
		case moves:
			m.chosen[m.section] = rows[min(max(at+by, 0), len(rows)-1)].key
		case k == "enter" && rows[at].page == nil:
			m.notice = "this call was made by no script"
		case k == "enter":
			m.page = rows[at].page
			return m.page.load
		}
	}
	return nil
}

// typed returns text after a key. Names of keys have more than one letter.
func typed(text, k string) string {
	r := []rune(text)
	if k == "backspace" {
		r = r[:max(0, len(r)-1)]
	} else if len([]rune(k)) == 1 && len(r) < 60 {
		return text + k
	}
	return string(r)
}

// question asks about the chosen waiting run.
func (m *model) question(verb string) {
	m.page = nil
	switch rows, at := m.list(waitingSection); {
	case len(rows) == 0:
		m.notice = "nothing waits for a decision"
	case m.o.MayNot != "":
		m.notice = "you cannot " + verb + " here: " + m.o.MayNot
	default:
		m.page = rows[at].page
		m.page.verb, m.page.code = verb, strings.ToLower(rand.Text()[:4])
	}
}

// answerKey handles a key during a question: the person must type a code, so that a repeated key
// decides nothing.
func (m *model) answerKey(k string) errand {
	p := m.page
	by, moves := steps[k]
	switch {
	case k == "esc":
		m.page, m.notice = nil, "nothing was decided"
	case moves && len(k) > 1:
		p.scroll += by
	case k != "enter":
		p.typed = typed(p.typed, k)
	case strings.ToLower(strings.TrimSpace(p.typed)) != p.code:
		p.typed, m.notice = "", "that is not the code: nothing was decided"
	default:
		m.page = nil
		return p.decide
	}
	return nil
}

// decide approves or denies the calls that were shown.
func (p *page) decide(ctx context.Context, c *client) change {
	numbers, digests := []int{}, []string{}
	for _, one := range p.run.Calls {
		numbers, digests = append(numbers, one.N), append(digests, one.Digest)
	}
	err := c.call(ctx, "/api/runs/"+url.PathEscape(p.run.ID)+"/decide", map[string]any{"approve": p.verb == "approve", "calls": numbers, "digests": digests}, &struct{}{})
	return func(m *model) {
		if err != nil {
			m.notice = err.Error()
			return
		}
		m.Runs = filtered(m.Runs, func(r run) bool { return r.ID != p.run.ID })
		m.notice = map[string]string{"approve": "approved ", "deny": "denied "}[p.verb] + words.Count(len(numbers), "call") + "; to go on: broker runs resume " + p.run.ID
	}
}

// The displayed part of the answers of a broker's HTTP interface. docs/console.md describes it.
type (
	server struct {
		Name, Transport, Status, Error string
		Tools                          int `json:"tool_count"`
	}
	serverDetail struct {
		Server            server
		Version, Protocol string
		Stderr            []string
	}
	execution struct {
		ID, Client, Status, Error string
		ClientInfo                string `json:"client_info"`
		ExitCode                  int    `json:"exit_code"`
		Calls                     int
		Started                   time.Time
		MS                        float64 `json:"duration_ms"`
		BytesIn                   int64   `json:"bytes_in"`
		BytesOut                  int64   `json:"bytes_out"`
	}
	executionDetail struct {
		Execution execution
		Calls     []call
	}
	call struct {
		Execution, Client, Server, Tool, Class, Status, Error string
		N                                                     int64
		Seq                                                   int
		Started                                               time.Time
		MS                                                    float64 `json:"duration_ms"`
		WaitedMS                                              float64 `json:"waited_ms"`
	}
	// A run waits for a person.
	run struct {
		ID                string `json:"run_id"`
		Client, Principal string
		Expires           time.Time
		Calls             []runCall `json:"-"` // those that wait
	}
	runCall struct {
		Tool, Why, State, Digest string
		N                        int
		Args                     json.RawMessage
	}
	// An answer is what the lists of the interface contain.
	answer struct {
		Servers    []server
		Executions []execution
		Calls      []call
		Runs       []run // that wait
	}
)

const (
	running              = "running"
	window               = time.Minute // the time that rates and percentiles cover
	maxWindow, maxWrites = 20_000, 200
)

func (c *call) ended() time.Time        { return c.Started.Add(duration(c.MS)) }
func (c *call) writes() bool            { return c.Class != "" && c.Class != "read" } // or may have
func (e *execution) client() string     { return cmp.Or(e.ClientInfo, e.Client, "unknown") }
func duration(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

// took returns the duration of the execution so far.
func (e *execution) took(now time.Time) time.Duration {
	if e.Status == running {
		return max(0, now.Sub(e.Started))
	}
	return duration(e.MS)
}

// savedTokens estimates the tokens that were kept out of the model, as the ledger does.
func (e *execution) savedTokens() int64 { return max(0, e.BytesIn-e.BytesOut) / 4 }

// A client uses the HTTP interface of a broker like the console.
type client struct {
	http        *outbound.Client
	base        string // such as http://127.0.0.1:1234
	key         string // of the session, sent in addition to its cookie
	savedTokens int64  // today, until it was connected
	limit       int    // of the calls that are read
	newest      int64  // of the calls that were read
}

// connect exchanges the token in an address of a console for a session.
func connect(ctx context.Context, open func() (string, error)) (*client, error) {
	address, err := open()
	u, invalid := url.Parse(address)
	if err = cmp.Or(err, invalid); err != nil {
		return nil, err
	}
	c := &client{http: outbound.New(outbound.Options{Home: u, HomeOnly: true, MaxBytes: 16 << 20, Timeout: 30 * time.Second}), base: outbound.Origin(u), limit: 1000}
	c.http.Jar, _ = cookiejar.New(nil) // its error is always nil
	var got struct {
		Key   string
		Saved struct{ Results int64 } `json:"tokens_saved"`
	}
	if err = c.call(ctx, "/console/session", map[string]string{"token": strings.TrimPrefix(u.Fragment, "token=")}, &got); err != nil {
		return nil, err
	}
	c.key = got.Key
	y, m, d := time.Now().Date()
	midnight := time.Date(y, m, d, 0, 0, 0, 0, time.Local)
	err = c.call(ctx, "/api/stats?since="+url.QueryEscape(midnight.Format(time.RFC3339)), nil, &got)
	c.savedTokens = got.Saved.Results
	return c, err
}

// call sends a request, with a body to change something, and reads its answer. A refusal is an
// error.
func (c *client) call(ctx context.Context, path string, body, answer any) error {
	if c == nil {
		return errors.New("not connected")
	}
	method, text := http.MethodGet, new(bytes.Buffer)
	if body != nil {
		method = http.MethodPost
		_ = json.NewEncoder(text).Encode(body) // bodies are maps of texts, numbers and booleans
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, text)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Broker-Console-Key", c.key)
	res, err := c.http.Do(req)
	if err != nil {
		return outbound.Cause(err)
	}
	defer res.Body.Close()
	if res.StatusCode < http.StatusMultipleChoices {
		return json.NewDecoder(res.Body).Decode(answer)
	}
	var problem struct{ Detail string }
	_ = json.NewDecoder(res.Body).Decode(&problem) // another program's answer has no detail
	return errors.New(cmp.Or(problem.Detail, "the broker answers "+res.Status))
}

// read reads the lists, and the calls of runs that wait for a person.
func (c *client) read(ctx context.Context) (now answer, err error) {
	for _, list := range []string{"servers", "executions?limit=200", "calls?limit=" + strconv.Itoa(c.limit), "approvals"} {
		err = errors.Join(err, c.call(ctx, "/api/"+list, nil, &now))
	}
	if n := len(now.Calls); n == c.limit && now.Calls[n-1].N > c.newest {
		c.limit = min(10*c.limit, maxWindow) // there may be more
	} else if c.limit = 100; n > 0 {
		c.newest = now.Calls[0].N
	}
	for i, r := range now.Runs {
		var whole struct{ Calls []runCall }
		_ = c.call(ctx, "/api/runs/"+url.PathEscape(r.ID)+"?whole=true", nil, &whole) // it may not wait any more
		now.Runs[i].Calls = filtered(whole.Calls, func(c runCall) bool { return c.State == "asked" })
	}
	now.Runs = filtered(now.Runs, func(r run) bool { return len(r.Calls) > 0 })
	return now, err
}

// A record contains the displayed data of the broker, the latest first.
type record struct {
	answer
	writes, recent []call // recent are those of the last minute
	savedTokens    int64  // today
}

// add adds an answer. Of earlier ones it keeps the calls.
func (r *record) add(a answer, now time.Time) {
	saved := make(map[string]int64)
	for _, e := range r.Executions {
		saved[e.ID] = e.savedTokens()
	}
	for _, e := range a.Executions {
		r.savedTokens += e.savedTokens() - saved[e.ID]
	}
	r.answer = a
	slices.SortFunc(r.Servers, func(a, b server) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortStableFunc(r.Executions, func(a, b execution) int { return b.Started.Compare(a.Started) })
	r.recent = merge(r.recent, a.Calls, maxWindow, func(c call) bool { return now.Sub(c.ended()) <= window })
	r.writes = merge(r.writes, a.Calls, maxWrites, func(c call) bool { return c.writes() })
}

// merge returns the latest calls of two lists that match, each once.
func merge(a, b []call, most int, match func(call) bool) []call {
	list := filtered(slices.Concat(a, b), match)
	slices.SortFunc(list, func(a, b call) int { return cmp.Or(b.ended().Compare(a.ended()), cmp.Compare(b.N, a.N)) })
	list = slices.CompactFunc(list, func(a, b call) bool { return a.N == b.N })
	return list[:min(len(list), most)]
}

func filtered[T any](list []T, match func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(list), func(t T) bool { return !match(t) })
}
