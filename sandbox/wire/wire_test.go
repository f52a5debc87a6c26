package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/wire"
)

func TestFramesArriveAsTheyWereWritten(t *testing.T) {
	big := bytes.Repeat([]byte("0123456789"), 100_000)
	frames := []wire.Frame{
		{Type: wire.TypeReady},
		{Type: wire.TypeCall, ID: 7, Payload: []byte("x")},
		{Type: wire.TypeDone, ID: 1<<32 - 1, Payload: big},
		{Type: 'z', Payload: []byte{0}},
	}
	var b bytes.Buffer
	w := wire.NewWriter(&b)
	for _, f := range frames {
		// In two parts, which must make no difference.
		half := len(f.Payload) / 2
		if err := w.Write(f.Type, f.ID, f.Payload[:half], f.Payload[half:]); err != nil {
			t.Fatal(err)
		}
	}
	text := b.Bytes()
	for name, r := range map[string]io.Reader{
		"at once":      bytes.NewReader(text),
		"in halves":    iotest.HalfReader(bytes.NewReader(text)),
		"with the EOF": iotest.DataErrReader(bytes.NewReader(text)),
	} {
		fr := wire.NewReader(r, len(big))
		for _, want := range frames {
			got, err := fr.Next()
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if got.Type != want.Type || got.ID != want.ID || !bytes.Equal(got.Payload, want.Payload) {
				t.Errorf("%s: got %s %d with %d bytes, want %s %d with %d", name, got.Type, got.ID, len(got.Payload), want.Type, want.ID, len(want.Payload))
			}
		}
		if _, err := fr.Next(); err != io.EOF {
			t.Errorf("%s: at the end: %v, want EOF", name, err)
		}
	}
}

func TestReaderRefusesWhatIsTooLong(t *testing.T) {
	r := wire.NewReader(strings.NewReader("O\x00\x00\x00\x00\xff\xff\xff\xffabc"), 1000)
	_, err := r.Next()
	e, ok := errors.AsType[*wire.SizeError](err)
	if !ok || e.Type != wire.TypeStdout || e.Size != 1<<32-1 || e.Max != 1000 {
		t.Errorf("error %v, want a SizeError", err)
	}
}

func TestAHeaderThatLiesAllocatesLittle(t *testing.T) {
	const lie = "O\x00\x00\x00\x00\x40\x00\x00\x00abc" // 1 GiB, of which 3 bytes come
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := wire.NewReader(strings.NewReader(lie), 1<<31-1).Next(); err != io.ErrUnexpectedEOF {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 8<<20 {
		t.Errorf("%d bytes allocated for 3", n)
	}
}

func TestAStreamThatEndsInsideAFrame(t *testing.T) {
	const whole = "O\x00\x00\x00\x00\x00\x00\x00\x03abc"
	for n := 1; n < len(whole); n++ {
		if _, err := wire.NewReader(strings.NewReader(whole[:n]), 10).Next(); err != io.ErrUnexpectedEOF {
			t.Errorf("after %d bytes: %v, want %v", n, err, io.ErrUnexpectedEOF)
		}
	}
}

func TestWritersDoNotMix(t *testing.T) {
	r, pw := io.Pipe()
	w := wire.NewWriter(pw)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 50 {
				payload := bytes.Repeat([]byte{byte(i)}, 1+i*20_000)
				if err := w.Write(wire.TypeResult, uint32(i), payload); err != nil {
					t.Error(err)
				}
			}
		})
	}
	go func() {
		wg.Wait()
		pw.Close()
	}()
	fr := wire.NewReader(r, 1<<20)
	n := 0
	for ; ; n++ {
		f, err := fr.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Payload) != 1+int(f.ID)*20_000 || bytes.Count(f.Payload, []byte{byte(f.ID)}) != len(f.Payload) {
			t.Fatalf("frame %d of writer %d is mixed with another", n, f.ID)
		}
	}
	if n != 400 {
		t.Errorf("%d frames, want 400", n)
	}
}

func TestCallPayload(t *testing.T) {
	for _, want := range []sandbox.Call{
		{Func: "call", Target: "demo__echo", Args: json.RawMessage(`{"a":"\u2028 < & \\"}`)},
		{Func: "tools.search", Args: json.RawMessage(`null`)},
		{},
		{Target: strings.Repeat("ü", 2_000)},
	} {
		var b bytes.Buffer
		if err := wire.NewWriter(&b).WriteCall(3, want); err != nil {
			t.Fatal(err)
		}
		f, err := wire.NewReader(&b, 1<<20).Next()
		if err != nil {
			t.Fatal(err)
		}
		got, err := wire.DecodeCall(f.Payload)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" || f.ID != 3 {
			t.Errorf("id %d, call (-want +got):\n%s", f.ID, diff)
		}
	}
	// Of a target that every host refuses hardly more than that is kept.
	long, err := wire.DecodeCall(append([]byte{0, 0, 0, 0x10, 0, 0}, make([]byte, 1<<20+2)...))
	if err != nil || len(long.Target) != sandbox.MaxQueryBytes+1 || long.Args != nil {
		t.Errorf("a target of 1 MiB: %d bytes of it, %q, %v", len(long.Target), long.Args, err)
	}
	if err := wire.NewWriter(io.Discard).WriteCall(1, sandbox.Call{Func: strings.Repeat("f", 1<<16)}); err == nil {
		t.Error("a function's name of 64 KiB was written")
	}
}

func TestErrorPayload(t *testing.T) {
	tests := []struct {
		name string
		err  error
		want error
	}{
		{"an error is its message", errors.New(`it <broke>`), errors.New(`it <broke>`)},
		{"a CallError keeps its fields", &sandbox.CallError{Name: "ToolError", Message: "m", Fields: json.RawMessage(`{"a":1}`)},
			&sandbox.CallError{Name: "ToolError", Message: "m", Fields: json.RawMessage(`{"a":1}`)}},
		{"also when it is wrapped", fmt.Errorf("call: %w", &sandbox.CallError{Name: "N", Message: "m"}), &sandbox.CallError{Name: "N", Message: "m"}},
		{"fields that are no JSON are left out", &sandbox.CallError{Name: "N", Message: "m", Fields: json.RawMessage(`{`)}, &sandbox.CallError{Name: "N", Message: "m"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b bytes.Buffer
			if err := wire.NewWriter(&b).WriteError(1, tt.err); err != nil {
				t.Fatal(err)
			}
			f, err := wire.NewReader(&b, 1<<20).Next()
			if err != nil {
				t.Fatal(err)
			}
			got := wire.DecodeError(f.Payload)
			if got.Error() != tt.want.Error() {
				t.Errorf("%q, want %q", got, tt.want)
			}
			g, _ := errors.AsType[*sandbox.CallError](got)
			w, _ := errors.AsType[*sandbox.CallError](tt.want)
			if diff := cmp.Diff(w, g); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDonePayload(t *testing.T) {
	for _, want := range []wire.Done{
		{},
		{ExitCode: 1, Error: "it <broke>", Notes: []string{"a", "b"}},
		{Value: json.RawMessage(`{"b":[1,2]}`)},
	} {
		var b bytes.Buffer
		if err := wire.NewWriter(&b).WriteDone(want); err != nil {
			t.Fatal(err)
		}
		f, err := wire.NewReader(&b, 1<<20).Next()
		if err != nil {
			t.Fatal(err)
		}
		got, err := wire.DecodeDone(f.Payload)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestPayloadsThatAreWrongAreRefused(t *testing.T) {
	for _, p := range []string{"", "\x00", "\x00\x01a", "\x00\x00\x00\x00\x00\x02a", "\x00\x00\x00\x00\x00\x00{", "\xff\xff\xff\xff\xff\xff"} {
		if c, err := wire.DecodeCall([]byte(p)); err == nil {
			t.Errorf("DecodeCall(%q) = %+v", p, c)
		}
	}
	for _, p := range []string{"", "\x00\x00\x00", "\x00\x00\x00\x00", "\x00\x00\x00\x02{", "\x00\x00\x00\x02{}{", "\xff\xff\xff\xff{}"} {
		if d, err := wire.DecodeDone([]byte(p)); err == nil {
			t.Errorf("DecodeDone(%q) = %+v", p, d)
		}
	}
	if err := wire.DecodeError([]byte("{")); err == nil || !strings.Contains(err.Error(), "could not be read") {
		t.Errorf("DecodeError: %v", err)
	}
}

// FuzzReader reads anything as frames and as their payloads: it must not
// panic, and what it accepts must be what is written again.
func FuzzReader(f *testing.F) {
	var b bytes.Buffer
	w := wire.NewWriter(&b)
	w.WriteCall(1, sandbox.Call{Func: "call", Target: "a__b", Args: json.RawMessage(`{"a":1}`)})
	w.WriteDone(wire.Done{ExitCode: 1, Error: "e", Value: json.RawMessage(`[1]`)})
	w.WriteError(2, errors.New("x"))
	w.Write(wire.TypeReady, 0, []byte(`{"layers":[{"name":"seccomp","active":true}]}`))
	f.Add(b.Bytes())
	f.Add([]byte("C\x00\x00\x00\x01\x00\x00\x00\x06\x00\x00\x00\x00\x00\x00"))
	f.Add([]byte("O\x00\x00\x00\x00\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, text []byte) {
		const limit = 1 << 16
		r := wire.NewReader(bytes.NewReader(text), limit)
		var again bytes.Buffer
		w := wire.NewWriter(&again)
		for {
			fr, err := r.Next()
			if err != nil {
				break
			}
			if len(fr.Payload) > limit {
				t.Fatalf("a payload of %d bytes", len(fr.Payload))
			}
			w.Write(fr.Type, fr.ID, fr.Payload)
			if c, err := wire.DecodeCall(fr.Payload); err == nil {
				var cb bytes.Buffer
				wire.NewWriter(&cb).WriteCall(fr.ID, c)
				if got := cb.Bytes()[9:]; !bytes.Equal(got, fr.Payload) {
					t.Errorf("call %q is written as %q", fr.Payload, got)
				}
			}
			if d, err := wire.DecodeDone(fr.Payload); err == nil && len(d.Value) > 0 && !json.Valid(d.Value) {
				t.Errorf("done with the value %q", d.Value)
			}
			wire.DecodeError(fr.Payload)
			if ready, err := wire.DecodeReady(fr.Payload); err != nil && len(ready.Layers) > 0 {
				t.Errorf("layers of a payload that is none: %q", fr.Payload)
			}
		}
		if !bytes.HasPrefix(text, again.Bytes()) {
			t.Errorf("read %q, wrote %q", text, again.Bytes())
		}
	})
}
