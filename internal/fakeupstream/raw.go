package fakeupstream

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// A raw server writes its frames by hand.
type raw struct {
	mode Mode
	out  *bufio.Writer
	mu   sync.Mutex // guards out

	stuck     bool
	tools     int // added by "storm"
	cancelled []json.RawMessage
}

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

func runRaw(mode Mode) error {
	s := &raw{mode: mode, out: bufio.NewWriterSize(os.Stdout, 1<<20)}
	if err := s.start(); err != nil {
		return err
	}
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 1 {
			var m message
			if err := json.Unmarshal(line, &m); err != nil {
				return err
			}
			s.handle(m)
		}
		if err == io.EOF {
			if mode == IgnoresTerm {
				block()
			}
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// start performs the actions of the mode before anything is read.
func (s *raw) start() error {
	switch s.mode {
	case Exits:
		fmt.Fprintln(os.Stderr, "Error: API key is missing")
		os.Exit(3)
	case Banner:
		s.line("Server listening on stdio 🚀")
		s.line(`{"level":30,"msg":"ready"}`)
		s.line(`[1,2]`)
		s.line(``)
	case Leaks:
		fmt.Fprintln(os.Stderr, "connecting with "+os.Getenv("FAKE_SECRET"))
		s.line("password: " + os.Getenv("FAKE_SECRET"))
	case IgnoresTerm:
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
	case Grandchild, Daemon:
		return leave(s.mode == Daemon)
	}
	return nil
}

// line writes one raw line.
func (s *raw) line(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mode == BOM {
		s.out.WriteString("\ufeff")
	}
	s.out.WriteString(text)
	s.out.WriteByte('\n')
	s.out.Flush()
}

func (s *raw) result(id json.RawMessage, result string) {
	s.line(`{"jsonrpc":"2.0","id":` + string(id) + `,"result":` + result + `}`)
}

func (s *raw) fail(id json.RawMessage, code int, text string) {
	s.line(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, id, code, text))
}

func (s *raw) handle(m message) {
	if s.stuck {
		return
	}
	if s.mode == Banner {
		s.line("handling " + m.Method)
	}
	switch m.Method {
	case "initialize":
		s.initialize(m)
	case "tools/list":
		s.list(m)
	case "tools/call":
		s.call(m)
	case "notifications/cancelled":
		var p struct {
			RequestID json.RawMessage `json:"requestId"`
		}
		_ = json.Unmarshal(m.Params, &p) // an empty id then shows in the test
		s.cancelled = append(s.cancelled, p.RequestID)
	case "server/discover":
		s.probed(m)
	default:
		if len(m.ID) > 0 && s.mode != SilentProbe {
			s.fail(m.ID, -32601, "Method not found")
		}
	}
}

func (s *raw) probed(m message) {
	switch s.mode {
	case SilentProbe:
	case StuckProbe:
		s.stuck = true
	case ExitsProbe:
		fmt.Fprintln(os.Stderr, "Error: expected initialize, got server/discover")
		os.Exit(1)
	default:
		s.fail(m.ID, -32601, "Method not found")
	}
}

func (s *raw) initialize(m message) {
	version := "2025-11-25"
	switch s.mode {
	case SilentInit:
		return
	case BadVersion:
		version = "2099-01-01"
	}
	instructions := ""
	if s.mode == Hidden {
		instructions = `,"instructions":"be\u200b \u202enice"`
	}
	if s.mode == Leaks {
		instructions = `,"instructions":` + quote("sign in with "+os.Getenv("FAKE_SECRET"))
	}
	s.result(m.ID, `{"protocolVersion":"`+version+`","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"raw","version":"0.1"}`+instructions+`}`)
}

const echoTool = `{"name":"echo","description":"Returns its arguments.","inputSchema":{"type":"object"}}`

func (s *raw) list(m message) {
	var p struct{ Cursor string }
	_ = json.Unmarshal(m.Params, &p) // no parameters, no cursor
	switch s.mode {
	case SilentList:
		return
	case NoTools:
		s.fail(m.ID, -32601, "Method not found")
		return
	}
	tools, next := s.page(p.Cursor)
	cursor := ""
	if next != "" {
		cursor = `,"nextCursor":"` + next + `"`
	}
	s.result(m.ID, `{"tools":[`+strings.Join(tools, ",")+`]`+cursor+`}`)
}

// page returns one page of tools/list, and the cursor of the next.
func (s *raw) page(cursor string) (tools []string, next string) {
	tools = []string{echoTool}
	n, _ := strconv.Atoi(cursor) // the first page has none
	switch s.mode {
	case BadAnnotation:
		tools = append(tools, badAnnotations...)
	case OddSchemas:
		tools = append(tools, oddSchemas...)
	case OddNames:
		tools = append(tools, oddNames...)
	case Hidden:
		tools = append(tools, hiddenTool)
	case RepeatedPage:
		return tools, "again"
	case EndlessPages:
		return numbered(n*100, 100), strconv.Itoa(n + 1)
	case Pages:
		if n < 2 {
			next = strconv.Itoa(n + 1)
		}
		return numbered(n*2, 2), next
	case ManyTools:
		return numbered(0, 5000), ""
	case BigResult:
		tools = append(tools, simpleTool("big"))
	case Dies:
		tools = append(tools, simpleTool("die"))
	case Hangs:
		tools = append(tools, simpleTool("hang"), simpleTool("cancelled"))
	case StopsReading:
		tools = append(tools, simpleTool("stop"))
	case Storm:
		tools = append(tools, simpleTool("storm"), simpleTool("lists"))
	case Leaks:
		tools = append(tools, simpleTool("refuse"), simpleTool("fail"), simpleTool("die"))
		if secret := os.Getenv("FAKE_SECRET"); secret != "" {
			said := quote("uses " + secret)
			tools = append(tools, simpleTool("as_"+strings.Trim(quote(secret), `"`)), `{"name":"told","title":`+said+`,"description":`+said+
				`,"inputSchema":{"type":"object","properties":{"key":{"type":"string","description":`+said+`,"default":`+quote(secret)+`}}}}`)
		}
	}
	return append(tools, numbered(0, s.tools)...), ""
}

func simpleTool(name string) string {
	return `{"name":"` + name + `","inputSchema":{"type":"object"}}`
}

func numbered(from, n int) []string {
	tools := make([]string, n)
	for i := range tools {
		tools[i] = simpleTool(fmt.Sprintf("tool_%d", from+i))
	}
	return tools
}

func (s *raw) call(m message) {
	var p struct {
		Name      string
		Arguments json.RawMessage
	}
	if err := json.Unmarshal(m.Params, &p); err != nil {
		s.fail(m.ID, -32602, err.Error())
		return
	}
	switch p.Name {
	case "echo":
		if s.mode == Numbers {
			s.result(m.ID, NumbersResult)
			return
		}
		s.text(m.ID, string(p.Arguments))
	case "refuse":
		s.fail(m.ID, -32000, "not with "+os.Getenv("FAKE_SECRET"))
	case "fail":
		s.line(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":` + quote("tried "+os.Getenv("FAKE_SECRET")) + `}}`)
		s.result(m.ID, `{"content":[{"type":"text","text":`+quote("no luck with "+os.Getenv("FAKE_SECRET"))+`}],"isError":true}`)
	case "die":
		fmt.Fprintln(os.Stderr, "Error: out of cheese "+os.Getenv("FAKE_SECRET"))
		os.Exit(9)
	case "hang":
	case "cancelled":
		s.text(m.ID, fmt.Sprint(len(s.cancelled)))
	case "stop":
		s.text(m.ID, "stopped")
		block()
	case "big":
		s.text(m.ID, strings.Repeat("x", 20<<20))
	case "storm":
		s.tools++
		for range 200 {
			s.line(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		}
		s.text(m.ID, "ok")
	default:
		s.fail(m.ID, -32602, "Unknown tool: "+p.Name)
	}
}

func (s *raw) text(id json.RawMessage, text string) {
	s.result(id, `{"content":[{"type":"text","text":`+quote(text)+`}]}`)
}

// quote returns text as a JSON string.
func quote(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string always marshals
	}
	return string(b)
}
