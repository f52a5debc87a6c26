package docker

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
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
	return runNode(t, code, "null")
}

// runNode is runLocally for a program whose calls get that answer.
func runNode(t *testing.T, code, answer string) string {
	t.Helper()
	bundle, _, err := nodejs.Bundled(t.Context(), sandbox.Request{Code: code}, func(string) bool { return true })
	if err != nil {
		t.Fatalf("%s: %v", code, err)
	}
	return converse(t, node{}.command(64<<20), map[string]any{"bundle": bundle}, answer)
}

// runPython is runNode for Python.
func runPython(t *testing.T, code, answer string) string {
	t.Helper()
	return converse(t, python{}.command(0), map[string]any{"code": code}, answer)
}

// converse starts a runner with an order, answers its calls, and returns its final
// message.
func converse(t *testing.T, command []string, order map[string]any, answer string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	order["timeout_ns"], order["grace_ns"], order["result_bytes"] = 10*time.Second, time.Second, 1<<20
	body, err := json.Marshal(order)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }()
	send := func(kind byte, id uint32, body []byte) {
		header := make([]byte, 9)
		header[0] = kind
		binary.BigEndian.PutUint32(header[1:], id)
		binary.BigEndian.PutUint32(header[5:], uint32(len(body)))
		_, _ = in.Write(append(header, body...)) // it may have ended
	}
	send('H', 0, []byte(`{"version":1}`))
	send('E', 0, body)
	for r := bufio.NewReader(out); ; {
		header := make([]byte, 9)
		if _, err := io.ReadFull(r, header); err != nil {
			t.Fatalf("the runner ended: %v", err)
		}
		payload := make([]byte, binary.BigEndian.Uint32(header[5:]))
		if _, err := io.ReadFull(r, payload); err != nil {
			t.Fatal(err)
		}
		switch header[0] {
		case 'C':
			send('R', binary.BigEndian.Uint32(header[1:]), []byte(answer))
		case 'D':
			return string(payload[4:])
		}
	}
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
		"return JSON.parse({})":          `hint: this is an object or an array already`,
		"return NaN":                     `"notes":["NaN was returned, which is null in JSON"]`,
		"return [new Date(NaN)][0]":      `an invalid date was returned, which is null in JSON"],"reads":[]}null`,
		"return Symbol('x')":             `a symbol was returned, which JSON does not have`,
		"return null":                    `"notes":[],"reads":[]}null`,
		"module.exports = async () => 5": `[]}5`,
		"export async function handler(event) { return 1 }": `"exit_code":0`,
	} {
		if got := runLocally(t, code); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s in it", code, got, want)
		}
	}
}

const mediaAnswer = `{"content":[{"type":"text","text":"hi"},{"type":"image","mimeType":"image/png","size":70,"ref":"r_aaaaaaaaaaaaaaaaaaaaaaaaaa"}]}`

// A read of the bytes of an image says what there is, and how to get them.
func TestBytesOfAnImageInNodeAndPython(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("no node here")
	}
	const get = "const r = await callMCPTool('a__b');\nconst img = r.content[1];\n"
	for code, want := range map[string]string{
		"return r.content[1].data.length":                        `"exit_code":1,"error":"TypeError: data is undefined: an image, a sound or a file is { type, mimeType, size, ref } in a script\n  at agent.ts:3:`,
		"return atob(img.data)":                                  `hint: await results.get(ref, { encoding: 'base64' })`,
		"return Buffer.from(img.blob, 'base64')":                 `TypeError: blob is undefined`,
		"return img.data ? 1 : 2":                                `"reads":["line 3: data is undefined: an image, a sound or a file is {`,
		"return r.content.map((c) => c.text)":                    `"reads":[]}["hi",null]`,
		"return [img.size, { ...img }.ref.length]":               `"reads":[]}[70,28]`,
		"return Object.getPrototypeOf(img) === Object.prototype": `"reads":[]}true`,
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			if got := runNode(t, get+code, mediaAnswer); !strings.Contains(got, want) {
				t.Errorf("%s, want %s in it", got, want)
			}
		})
	}
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3 here")
	}
	const hint = `hint: an image, a sound or a file is a dict with type, mimeType, size and ref: await results.get(x['ref'], encoding='base64')`
	for code, want := range map[string]string{
		"return len(img['data'])":                          `KeyError: 'data'\n    at agent.py:3\n` + hint,
		"return img.data":                                  hint,
		"import base64\nbase64.b64decode(img.get('blob'))": hint,
		"return img['nothing']":                            `"error": "KeyError: 'nothing'\n    at agent.py:3"`,
		"return [c.get('text') for c in r['content']]":     `["hi",null]`,
		"import copy\nreturn [copy.deepcopy(img), isinstance(img, dict), json.loads(json.dumps(img)) == img]": `true,true]`,
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			if got := runPython(t, "r = await call_mcp_tool('a__b')\nimg = r['content'][1]\n"+code, mediaAnswer); !strings.Contains(got, want) {
				t.Errorf("%s, want %s in it", got, want)
			}
		})
	}
}

// An error of Python says what a value is in which something was looked for.
func TestPythonSaysWhatTheAnswerIs(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3 here")
	}
	for _, tt := range []struct{ code, answer, want string }{
		{"return r['contents'][0]", `{"entities":[],"relations":[]}`, "hint: r is a dict with entities, relations"},
		{"return r['page']['items']", `{"page":{"next":2}}`, "hint: r['page'] is a dict with next"},
		{"return r['content'][0]['text']", `"hi"`, "hint: r is a text: use it as it is"},
		{"return r['content']", `[{"type":"text","text":"hi"},{"type":"image"}]`, "hint: r is a list of 2 (image, text): take one, as in r[0]"},
		{"return r.total", `{"total":1}`, "hint: it is a dict with total: write x['total']"},
		{"import servers.a\nfrom servers import b\nfrom skills import c", `1`, "agent.py:2:1: there is no server module 'a'; no server is connected\\nagent.py:3:1: there is no server module 'b'; no server is connected\\nagent.py:4:1: there is no skill module 'c'"},
		{"return 1e999", `1`, `"notes": ["inf was returned, which is null in JSON"]}null`},
		{"return r.get('x')", `"hi"`, "hint: it is a text: use it as it is"},
		{"return [x['id'] for x in r]", `[{"name":1}]`, "hint: x is a dict with name"},
		{"return {}['x']", `1`, "KeyError: 'x'\\n    at agent.py:2\""},
		{"class A:\n  pass\nreturn A().x", `1`, "has no attribute 'x'\\n    at agent.py:4\""},
	} {
		t.Run(tt.code, func(t *testing.T) {
			t.Parallel()
			if got := runPython(t, "r = await call_mcp_tool('a__b')\n"+tt.code, tt.answer); !strings.Contains(got, tt.want) {
				t.Errorf("%s, want %s in it", got, tt.want)
			}
		})
	}
}
