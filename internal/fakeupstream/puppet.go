package fakeupstream

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// A Puppet is a server that sends the bytes that a test configures, over stdio,
// Streamable HTTP or the 2024-11-05 transport. By default it has the tool "echo". It is
// safe for concurrent use by several connections.
type Puppet struct {
	// Modern selects protocol 2026-07-28.
	Modern bool
	// JSON selects JSON bodies instead of streams over Streamable HTTP, for answers of
	// one frame.
	JSON bool
	// HTTP, if not nil, is called first for each request over Streamable HTTP; it
	// returns true if it has answered. method is the method of the message, and tool
	// the name of a called tool.
	HTTP func(w http.ResponseWriter, r *http.Request, id, method, tool string) bool

	mu     sync.Mutex
	script map[string][]string
	seen   map[string]int
	until  []string // answers that a new session removes
}

// On sets the frames that answer requests of a method, or calls of a tool as
// "tools/call NAME". $ID in a frame becomes the id of the request. Without frames, On
// restores the default answer.
func (p *Puppet) On(what string, frames ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.script == nil {
		p.script = make(map[string][]string)
	}
	if frames == nil {
		delete(p.script, what)
		return
	}
	p.script[what] = frames
}

// UntilInitialize is On for the time until the next session is opened.
func (p *Puppet) UntilInitialize(what string, frames ...string) {
	p.On(what, frames...)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.until = append(p.until, what)
}

// Seen returns the number of requests of a method, or of calls of a tool as "tools/call
// NAME".
func (p *Puppet) Seen(what string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen[what]
}

// Result returns a frame with a result.
func Result(result string) string { return `{"jsonrpc":"2.0","id":$ID,"result":` + result + `}` }

// Refusal returns a frame with an error.
func Refusal(code int, text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":$ID,"error":{"code":%d,"message":%q}}`, code, text)
}

const puppetCapabilities = `{"tools":{},"prompts":{},"resources":{},"logging":{},"completions":{},"extensions":{"io.modelcontextprotocol/skills":{}}}`

// Default answers of a Puppet.
var puppetAnswers = map[string]string{
	"initialize":               Result(`{"protocolVersion":"2025-11-25","capabilities":` + puppetCapabilities + `,"serverInfo":{"name":"puppet","version":"1"}}`),
	"tools/list":               Result(`{"tools":[` + echoTool + `],"resultType":"complete","ttlMs":0}`),
	"prompts/list":             Result(`{"prompts":[],"resultType":"complete"}`),
	"resources/list":           Result(`{"resources":[],"resultType":"complete"}`),
	"resources/templates/list": Result(`{"resourceTemplates":[],"resultType":"complete"}`),
	"skills/list":              Result(`{"skills":[],"resultType":"complete"}`),
	"ping":                     Result(`{}`),
	"logging/setLevel":         Result(`{}`),
}

// answer returns the frames for a message.
func (p *Puppet) answer(m message) []string {
	what := m.Method
	var call struct {
		Name      string
		Arguments json.RawMessage
	}
	if m.Method == "tools/call" && json.Unmarshal(m.Params, &call) == nil {
		what += " " + call.Name
	}
	p.mu.Lock()
	if p.seen == nil {
		p.seen = make(map[string]int)
	}
	p.seen[what]++
	if m.Method == "initialize" {
		for _, over := range p.until {
			delete(p.script, over)
		}
		p.until = nil
	}
	frames, told := p.script[what]
	if !told {
		frames, told = p.script[m.Method]
	}
	p.mu.Unlock()
	switch {
	case m.Method == "" || len(m.ID) == 0:
		return nil
	case told:
	case puppetAnswers[m.Method] != "":
		frames = []string{puppetAnswers[m.Method]}
	case m.Method == "tools/call" && call.Name == "echo":
		frames = []string{Result(`{"content":[{"type":"text","text":` + quote(string(call.Arguments)) + `}],"resultType":"complete"}`)}
	case m.Method == "server/discover" && p.Modern:
		frames = []string{Result(`{"supportedVersions":["2026-07-28"],"capabilities":` + puppetCapabilities + `,"resultType":"complete"}`)}
	default:
		frames = []string{Refusal(-32601, "Method not found")}
	}
	out := make([]string, len(frames))
	for i, f := range frames {
		out[i] = strings.ReplaceAll(f, "$ID", string(m.ID))
	}
	return out
}

// Serve serves stdio until in ends.
func (p *Puppet) Serve(in io.Reader, out io.Writer) {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		var m message
		if len(line) > 1 && json.Unmarshal(line, &m) == nil {
			for _, frame := range p.answer(m) {
				if _, err := io.WriteString(out, frame+"\n"); err != nil {
					return
				}
			}
		}
		if err != nil {
			return
		}
	}
}

// ServeHTTP serves Streamable HTTP.
func (p *Puppet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m := readMessage(r)
	if p.HTTP != nil {
		var call struct{ Name string }
		_ = json.Unmarshal(m.Params, &call) // other methods have no name
		if p.HTTP(w, r, string(m.ID), m.Method, call.Name) {
			return
		}
	}
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	frames := p.answer(m)
	switch {
	case len(m.ID) == 0 || m.Method == "":
		w.WriteHeader(http.StatusAccepted)
	case p.JSON && len(frames) == 1:
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, frames[0]) // the client may be gone
	default:
		w.Header().Set("Content-Type", "text/event-stream")
		for _, frame := range frames {
			fmt.Fprintf(w, "event: message\ndata: %s\n\n", frame)
		}
	}
}

func readMessage(r *http.Request) (m message) {
	_ = json.NewDecoder(r.Body).Decode(&m) // a GET has no message
	return m
}

// SSE returns a handler for the transport of protocol 2024-11-05.
func (p *Puppet) SSE() http.Handler {
	var mu sync.Mutex
	streams := make(map[string]chan string)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			m := readMessage(r)
			mu.Lock()
			to := streams[r.URL.Query().Get("stream")]
			mu.Unlock()
			w.WriteHeader(http.StatusAccepted)
			for _, frame := range p.answer(m) {
				to <- frame
			}
			return
		}
		frames := make(chan string, 10_000)
		mu.Lock()
		id := fmt.Sprint(len(streams))
		streams[id] = frames
		mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "event: endpoint\ndata: /messages?stream=%s\n\n", id)
		for {
			w.(http.Flusher).Flush()
			select {
			case frame := <-frames:
				fmt.Fprintf(w, "event: message\ndata: %s\n\n", frame)
			case <-r.Context().Done():
				return
			}
		}
	})
}
