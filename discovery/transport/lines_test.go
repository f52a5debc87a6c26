package transport

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbroker/mcpbroker/internal/jsonscan/jsonscantest"
)

func TestFramesAreDecoded(t *testing.T) {
	tests := []struct {
		name, line string
		want       []string // re-encoded; nil: refused
	}{
		{"response", `{"jsonrpc":"2.0","id":1,"result":{"z":1,"a":9007199254740993}}`, []string{`{"jsonrpc":"2.0","id":1,"result":{"z":1,"a":9007199254740993}}`}},
		{"members in another order", ` {"result" : [ 1 , {"id":5} ] , "id" : "x" , "jsonrpc" : "2.0"} `, []string{`{"jsonrpc":"2.0","id":"x","result":[1,{"id":5}]}`}},
		{"escaped quotes", `{"jsonrpc":"2.0","id":1,"result":"\\\"id\":2\\\\"}`, []string{`{"jsonrpc":"2.0","id":1,"result":"\\\"id\":2\\\\"}`}},
		{"escaped key", `{"jsonrpc":"2.0","\u0069d":1,"result":{}}`, []string{`{"jsonrpc":"2.0","id":1,"result":{}}`}},
		{"null error beside a result", `{"jsonrpc":"2.0","id":1,"error":null,"result":{}}`, []string{`{"jsonrpc":"2.0","id":1,"result":{}}`}},
		{"error", `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no","data":{"b":1}}}`, []string{`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no","data":{"b":1}}}`}},
		{"error that is text", `{"jsonrpc":"2.0","id":1,"error":"no"}`, []string{`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no"}}`}},
		{"notification", `{"jsonrpc":"2.0","method":"m","params":{"a":1}}`, []string{`{"jsonrpc":"2.0","method":"m","params":{"a":1}}`}},
		{"batch", `[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","id":2,"result":3}]`, []string{`{"jsonrpc":"2.0","method":"a"}`, `{"jsonrpc":"2.0","id":2,"result":3}`}},
		{"byte order mark", "\ufeff{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\r", []string{`{"jsonrpc":"2.0","id":1,"result":{}}`}},
		{"log line", `{"level":30,"msg":"x"}`, nil},
		{"other version", `{"jsonrpc":"1.0","id":1,"result":{}}`, nil},
		{"neither result nor method", `{"jsonrpc":"2.0","id":1}`, nil},
		{"response without id", `{"jsonrpc":"2.0","result":{}}`, nil},
		{"two values", `{"jsonrpc":"2.0","id":1,"result":{}} {}`, nil},
		{"text", `Server ready`, nil},
		{"empty batch", `[]`, nil},
		{"batch of numbers", `[1]`, nil},
		{"cut", `{"jsonrpc":"2.0","id":1,"result":{`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			messages, rejected := received(t, tt.line)
			if rejected != (tt.want == nil) {
				t.Fatalf("rejected: %v", rejected)
			}
			var got []string
			for _, m := range messages {
				b, err := jsonrpc.EncodeMessage(m)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, string(b))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBadPartOfABatchIsRejectedAlone(t *testing.T) {
	messages, rejected := received(t, `[1,{"jsonrpc":"2.0","method":"a"}]`+"\nnoise\n"+`{"jsonrpc":"2.0","method":"b"}`)
	if len(messages) != 2 || !rejected {
		t.Errorf("%d messages, want 2; rejected: %v", len(messages), rejected)
	}
}

// A line is a message if encoding/json reads it.
func TestLinesAgreeWithEncodingJSON(t *testing.T) {
	const request = `{"jsonrpc":"2.0","method":"m","params":{"value":`
	for _, text := range jsonscantest.Malformed() {
		if strings.ContainsAny(text, "\n") || text == "" {
			continue
		}
		if messages, rejected := received(t, request+text+"}}"); len(messages) > 0 || !rejected {
			t.Errorf("%.200q: %d messages, rejected: %v", text, len(messages), rejected)
		}
	}
	for _, text := range jsonscantest.Odd() {
		if text = request + text + "}}"; strings.ContainsAny(text, "\n") || !json.Valid([]byte(text)) {
			continue
		}
		if messages, rejected := received(t, text); len(messages) != 1 || rejected {
			t.Errorf("%.200q: %d messages, rejected: %v", text, len(messages), rejected)
		}
	}
}

// The id of a broken message is found behind what is broken.
func TestIDOfABrokenMessage(t *testing.T) {
	for _, text := range []string{
		`{"result":{"x":NaN},"jsonrpc":"2.0","id":7,"method":"m"}`, `{"result":[1,],"jsonrpc":"2.0","id":7,"method":"m"}`, `{"jsonrpc":"2.0","result":"\x","id":7,"method":"m"}`,
		"{\"jsonrpc\":\"2.0\",\"result\":\"a\tb\",\"id\":7,\"method\":\"m\"}", `{"jsonrpc":"2.0","id":7,"method":"m","params":{"x`, `{"jsonrpc":"2.0","id":7,"method":"m","params":{'x':1}}`,
	} {
		if id := RequestID([]byte(text)); string(id) != "7" {
			t.Errorf("%s: id %q", text, id)
		}
	}
}

// What the scanner cuts out is what encoding/json finds.
func FuzzEachMember(f *testing.F) {
	f.Add(`{"a":1,"b":[1,{"c":"}"}],"d":"\\\"","e":null}`)
	f.Add(` { "a" : -1.5e3 , "" : {} } `)
	f.Add(`{"a":"\\"}`)
	f.Fuzz(func(t *testing.T, object string) {
		var want map[string]json.RawMessage
		if !strings.HasPrefix(strings.TrimLeft(object, " \t\r\n"), "{") || json.Unmarshal([]byte(object), &want) != nil {
			return
		}
		got := make(map[string]json.RawMessage)
		EachMember([]byte(object), func(key string, value json.RawMessage) {
			got[key] = value
		})
		if len(got) != len(want) {
			t.Errorf("%q: members %q, want %q", object, got, want)
		}
		for k, w := range want {
			if !bytes.Equal(got[k], w) {
				t.Errorf("%q: member %q is %s, want %s", object, k, got[k], w)
			}
		}
	})
}

// received are the messages of lines, and whether anything was rejected.
func received(t *testing.T, text string) (messages []jsonrpc.Message, rejected bool) {
	t.Helper()
	l := NewLines(1<<20, func([]byte, int, error) error {
		rejected = true
		return nil
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.From(strings.NewReader(text))
	}()
	for {
		m, err := l.Read(t.Context())
		if err == io.EOF {
			<-done
			return messages, rejected
		}
		if err != nil {
			t.Fatal(err)
		}
		messages = append(messages, m)
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`))
	f.Add([]byte(`[{"jsonrpc":"2.0","id":1.5,"error":{}}]`))
	f.Fuzz(func(t *testing.T, line []byte) {
		messages, _ := received(t, string(line))
		for _, m := range messages {
			if resp, ok := m.(*jsonrpc.Response); ok && resp.Result != nil && !json.Valid(resp.Result) {
				t.Errorf("%q: result %s is not valid", line, resp.Result)
			}
		}
	})
}

// Whatever a stream contains, the SDK gets messages that it can read.
func FuzzSSEFilter(f *testing.F) {
	f.Add("event: message\ndata: {\"a\":1}\n\n: c\n\ndata:{\"jsonrpc\":\"2.0\",\ndata: \"method\":\"a\"}\r\n\r\nid: 7\n\nretry\n\ndata: cut")
	f.Fuzz(func(t *testing.T, text string) {
		read := func(s string) string {
			out, err := io.ReadAll(&sseFilter{events: newEventReader(io.NopCloser(strings.NewReader(s)), func() int64 { return MaxMessageBytes }), tee: new(tee)})
			if err != nil {
				t.Fatal(err)
			}
			return string(out)
		}
		once := read("event: endpoint\ndata: /m\n\n" + text)
		if twice := read(once); twice != once {
			t.Errorf("%q became %q and then %q", text, once, twice)
		}
		for block := range strings.SplitSeq(strings.TrimSpace(once), "\n\n") {
			_, data, _ := strings.Cut(block, "data: ")
			if _, err := jsonrpc.DecodeMessage([]byte(data)); err != nil && !strings.HasPrefix(block, "event: endpoint") {
				t.Errorf("%q: the SDK cannot read %q: %v", text, block, err)
			}
		}
	})
}
