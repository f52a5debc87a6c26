package upstream

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
)

// A message is found in its line beside other content. One that cannot be read fails
// the call at once, and the error shows it.
func TestMessagesBesideOtherOutput(t *testing.T) {
	t.Parallel()
	answer := fakeupstream.Result(`{"content":[{"type":"text","text":"here { it } is"}]}`)
	tests := []struct {
		name  string
		lines []string
		want  string // in the error; "" if there is a result
	}{
		{"a colour that is reset", []string{"\x1b[33m[info] connected\n\x1b[0m" + answer}, ""},
		{"a banner without a line break", []string{"Server ready on stdio! " + answer}, ""},
		{"a prompt", []string{"> " + answer}, ""},
		{"a progress bar", []string{"\r 10%\r 50%\r100%" + answer}, ""},
		{"text behind it", []string{answer + " (took 3 ms)"}, ""},
		{"a log in JSON before it", []string{`{"level":30,"msg":"ready"} ` + answer}, ""},
		{"a log in JSON behind it", []string{answer + `{"level":30,"msg":"done"}`}, ""},
		{"braces before it", []string{"map{a b} {x} { " + answer}, ""},
		{"two messages in a line", []string{`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}` + answer}, ""},
		{"a log of the request", []string{`got {"jsonrpc":"2.0","id":$ID,"method":"tools/call","params":{"name":"echo"}}`, answer}, ""},
		{"a zero byte", []string{"\x00" + answer}, ""},
		{"a byte order mark in the line", []string{"hello \ufeff" + answer}, ""},
		{"lines of text", []string{"npm warn deprecated", "", "{", "}", answer}, ""},
		{"no version", []string{strings.Replace(answer, `"jsonrpc":"2.0",`, "", 1)}, ""},
		{"an id as a text", []string{strings.Replace(answer, "$ID", `"$ID"`, 1)}, ""},
		{"a log with another id and no version", []string{`{"id":77777,"result":{"content":[]}}`, answer}, ""},
		{"a result without an id", []string{strings.Replace(answer, "$ID", "null", 1)}, "its id is not that of a request"},
		{"NaN", []string{fakeupstream.Result(`{"content":[],"structuredContent":{"mean":NaN}}`)}, `it contains NaN or Infinity: {"jsonrpc":"2.0","id":`},
		{"-Infinity", []string{fakeupstream.Result(`{"structuredContent":{"min":-Infinity,"a":"NaN"}}`)}, "it contains NaN or Infinity"},
		{"nested too deep", []string{fakeupstream.Result(deep)}, "deeper than 10,000"},
		{"a line break in a string", []string{`{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"one` + "\n" + `two"}]}}`}, "it ends early"},
		{"single quotes inside", []string{fakeupstream.Result(`{'content':[]}`)}, "not valid JSON"},
		{"undefined inside", []string{"note: " + fakeupstream.Result(`{"content":undefined}`)}, "not valid JSON"},
		{"neither result nor error", []string{`{"jsonrpc":"2.0","id":$ID}`}, "neither a result nor an error"},
	}
	puppet := new(fakeupstream.Puppet)
	p := newPuppet(t, "stdio", puppet)
	p.Refresh(t.Context())
	for _, tt := range tests {
		puppet.On("tools/call echo", tt.lines...)
		before := time.Now()
		got, err := p.Call(t.Context(), "s", "echo", nil, nil)
		if took := time.Since(before); took > 10*time.Second {
			t.Errorf("%s: took %v", tt.name, took)
		}
		switch {
		case tt.want == "" && (err != nil || textOf(t, got) != "here { it } is"):
			t.Errorf("%s: %s, %v", tt.name, got, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		case tt.want != "":
			if _, ok := errors.AsType[*ReplyError](err); !ok {
				t.Errorf("%s: %T does not say that the tool may have run", tt.name, err)
			}
		}
	}
	if n := puppet.Seen("initialize"); n != 1 {
		t.Errorf("%d sessions, want 1", n)
	}
}

// An error without an id belongs to the only request.
func TestErrorWithoutAnID(t *testing.T) {
	t.Parallel()
	for _, wire := range wires {
		for _, id := range []string{"", `"id":null,`} {
			puppet := new(fakeupstream.Puppet)
			puppet.On("server/discover", `{"jsonrpc":"2.0",`+id+`"error":{"code":-32601,"message":"what?"}}`)
			p := newPuppet(t, wire, puppet)
			before := time.Now()
			if st := p.Refresh(t.Context())[0]; st.State != StateReady || time.Since(before) > probeWait {
				t.Errorf("%s: status = %+v after %v", wire, st, time.Since(before))
			}
			puppet.On("tools/call echo", `{"jsonrpc":"2.0",`+id+`"error":{"code":-32700,"message":"parse error"}}`)
			if _, err := p.Call(t.Context(), "s", "echo", nil, nil); err == nil || !strings.Contains(err.Error(), "parse error (code -32700)") {
				t.Errorf("%s, %q: %v", wire, id, err)
			}
		}
	}
}

// A server that speaks the first published protocol only is connected.
func TestOldestProtocol(t *testing.T) {
	t.Parallel()
	for _, wire := range []string{"stdio", "sse"} {
		puppet := new(fakeupstream.Puppet)
		puppet.On("initialize", fakeupstream.Result(`{"protocolVersion":"2024-10-07","capabilities":{"tools":{}},"serverInfo":{"name":"2024-10-07","version":"1"}}`))
		p := newPuppet(t, wire, puppet)
		if st := p.Refresh(t.Context())[0]; st.State != StateReady {
			t.Errorf("%s: status = %+v", wire, st)
		}
		puppet.On("initialize", fakeupstream.Result(`{"protocolVersion":"1999-01-01","capabilities":{},"serverInfo":{"name":"x","version":"1"}}`))
		if st := newPuppet(t, wire, puppet).Refresh(t.Context())[0]; st.State == StateReady {
			t.Errorf("%s: a protocol that nobody knows is taken: %+v", wire, st)
		}
	}
}

// Invalid numbers such as NaN are read as null in lists of tools.
func TestListWithNaN(t *testing.T) {
	t.Parallel()
	for _, wire := range wires {
		puppet := new(fakeupstream.Puppet)
		puppet.On("tools/list", fakeupstream.Result(`{"tools":[{"name":"echo","inputSchema":{"type":"object","properties":{"x":{"type":"number","default":NaN,"maximum":Infinity}}}}]}`))
		p := newPuppet(t, wire, puppet)
		if st := p.Refresh(t.Context())[0]; st.State != StateReady || st.Tools != 1 {
			t.Errorf("%s: status = %+v", wire, st)
		}
	}
}

// The data of a JSON-RPC error is shown if its message does not contain it.
func TestDataOfAnErrorIsShown(t *testing.T) {
	t.Parallel()
	tests := []struct{ members, want string }{
		{`"code":-32000,"message":"bad","data":{"why":"over the quota of 9007199254740993"}`, `bad (code -32000): {"why":"over the quota of 9007199254740993"}`},
		{`"code":-32602,"message":"invalid params","data":"id:\n  field required"`, "invalid params (code -32602): id: field required"},
		{`"code":-32603,"message":"no such row","data":"no such row"`, "no such row (code -32603)"},
		{`"code":-32603,"message":"gone","data":{}`, "gone (code -32603)"},
		{`"code":-32603,"message":"gone","data":null`, "gone (code -32603)"},
		{`"code":-32603,"message":"long","data":"` + strings.Repeat("x", 9000) + `"`, "long (code -32603): " + strings.Repeat("x", maxErrorData-1) + "…"},
	}
	puppet := new(fakeupstream.Puppet)
	p := newPuppet(t, "stdio", puppet)
	for _, tt := range tests {
		puppet.On("tools/call echo", `{"jsonrpc":"2.0","id":$ID,"error":{`+tt.members+`}}`)
		if _, err := p.Call(t.Context(), "s", "echo", nil, nil); err == nil || err.Error() != "call s/echo: "+tt.want {
			t.Errorf("%s: %v", tt.members, err)
		}
	}
}
