package docker

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/nodejs"
)

// runLocally runs a program with the Node runner in a local process, without a
// container, and returns its final message: JSON with the error, and the result.
func runLocally(t *testing.T, code string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	bundle, _, err := nodejs.Bundled(ctx, sandbox.Request{Code: code}, func(string) bool { return true })
	if err != nil {
		t.Fatalf("%s: %v", code, err)
	}
	order, err := json.Marshal(map[string]any{"bundle": bundle, "timeout_ns": 10 * time.Second, "grace_ns": time.Second, "result_bytes": 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	frame := func(kind byte, body []byte) []byte {
		header := make([]byte, 9)
		header[0] = kind
		binary.BigEndian.PutUint32(header[5:], uint32(len(body)))
		return append(header, body...)
	}
	args := node{}.command(64 << 20)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = in.Write(frame('H', []byte(`{"version":1}`))) // it may have ended
	_, _ = in.Write(frame('E', order))
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%s: %v: %s", code, err, out.String())
	}
	return out.String()
}

func TestNodeGivesWhatValuesHoldAndHints(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("no node here")
	}
	for code, want := range map[string]string{
		"return { m: new Map([['a', 1]]), s: new Set([2n]), r: /x/g, u: new URL('https://a.example/?q=1').searchParams }":                           `{"m":{"a":1},"s":[2],"r":"/x/g","u":"q=1"}`,
		"return Promise.allSettled([Promise.reject(new TypeError('no'))])":                                                                          `[{"status":"rejected","reason":{"name":"TypeError","message":"no"}}]`,
		"const m = new Map(); m.set('m', m); return m":                                                                                              "circular",
		"let n = 0; return retry(async () => { if (n++ < 1) throw Object.assign(new Error('x'), { retryable: true, retryAfterMs: 1 }); return n })": `[]}2`,
		"return JSON.parse('9007199254740993') + 1":                                                                                                 `hint: integers beyond 2^53 are bigints in results`,
		"return JSON.parse({})":                             `hint: this is an object or an array already`,
		"module.exports = async () => 5":                    `[]}5`,
		"export async function handler(event) { return 1 }": `"exit_code":0`,
	} {
		if got := runLocally(t, code); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s in it", code, got, want)
		}
	}
}
