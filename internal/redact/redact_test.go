package redact

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// The secrets are put together here so that no scanner takes them for real.
var (
	github = "ghp_" + strings.Repeat("a1B2", 9)
	slack  = "xoxb-" + "123456789012-abcdefghij"
	openai = "sk-" + "proj-abcdef0123456789ABCDEF"
	aws    = "AKIA" + "ABCDEFGHIJKLMNOP"
	jwt    = "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0." + "abcDEF-_123"
	pem    = "-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----"
)

// The limits of these tests.
const (
	maxPayload = 64 << 10
	maxError   = 2 << 10
)

func TestRedactText(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"", ""},
		{"nothing to hide: 12 issues", "nothing to hide: 12 issues"},
		{"use " + github + ", please", "use [redacted], please"},
		{"github_pat_" + strings.Repeat("a", 30), "[redacted]"},
		{slack, "[redacted]"},
		{"key=" + openai, "key=[redacted]"},
		{aws + " in eu-west-1", "[redacted] in eu-west-1"},
		{"jwt " + jwt + " end", "jwt [redacted] end"},
		{"a\n" + pem + "\nb", "a\n[redacted]\nb"},
		{"-----BEGIN PRIVATE KEY-----\ncut off", "[redacted]"},
		{"Authorization: Bearer abc123def456ghi", "Authorization: Bearer [redacted]"},
		{"401 for bearer abc123def456ghi now", "401 for bearer [redacted] now"},
		{"bearer authentication is basic functionality", "bearer authentication is basic functionality"},
		{"https://bob:hunter2@example.com/x", "https://bob:[redacted]@example.com/x"},
		{"https://example.com/x?api_key=hunter2&n=3", "https://example.com/x?api_key=[redacted]&n=3"},
		{"http://127.0.0.1:8080/x: connection refused", "http://127.0.0.1:8080/x: connection refused"},
		{`login failed: password="correct horse battery"`, `login failed: password="[redacted]"`},
		{"password: hunter2", "password: [redacted]"},
		{"unexpected token: identifier", "unexpected token: identifier"},
		{"a task-force of sk-people", "a task-force of sk-people"},
		{"max_tokens=100", "max_tokens=100"},
		{"connect it at https://b.example/connect/crm/bff4d1182001709dGMLBZHHHA45D5MFE2TEHRFMWA7, and", "connect it at https://b.example/connect/crm/[redacted], and"},
		{"connect it at https://b.example/connect/crm, and", "connect it at https://b.example/connect/crm, and"},
	} {
		if got := Text(tt.in); got != tt.want {
			t.Errorf("Text(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestRedactPayload(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"nothing", " ", ""},
		{"plain values survive byte for byte", `{"b":1.50,"a":[true,null,12345678901234567890,1e400],"":"ü<&>"}`, `{"b":1.50,"a":[true,null,12345678901234567890,1e400],"":"ü<&>"}`},
		{"white space goes", "{ \"a\" : [ ] }\n", `{"a":[]}`},
		{"secret keys in any spelling", `{"Authorization":"x","api_key":"x","apiKey":"x","X-Api-Key":"x","accessToken":"x","user.password":"x"}`,
			`{"Authorization":"[redacted]","api_key":"[redacted]","apiKey":"[redacted]","X-Api-Key":"[redacted]","accessToken":"[redacted]","user.password":"[redacted]"}`},
		{"all below a secret key", `{"cookies":[{"name":"sid","v":["x"]}],"after":"y"}`, `{"cookies":[{"name":"[redacted]","v":["[redacted]"]}],"after":"y"}`},
		{"numbers below secret keys", `{"pin":1234,"password":1,"max_tokens":5,"tokens":7}`, `{"pin":"[redacted]","password":"[redacted]","max_tokens":5,"tokens":7}`},
		{"not by half a name", `{"author":"Bob","keyboard":"x","monkey":"y"}`, `{"author":"Bob","keyboard":"x","monkey":"y"}`},
		{"shapes in values", `{"note":"` + github + `"}`, `{"note":"[redacted]"}`},
		{"shapes in keys", `{"` + aws + `":1}`, `{"[redacted]":1}`},
		{"JSON in a text, as tools answer", `[{"type":"text","text":"{\"password\": \"a b\",\"n\":1}"}]`, `[{"type":"text","text":"{\"password\": \"[redacted]\",\"n\":1}"}]`},
		{"text that only begins like JSON", `"[note] password=abc"`, `"[note] password=[redacted]"`},
		{"scalar", `"x"`, `"x"`},
		{"no JSON", `{"a":`, `"{\"a\":"`},
		{"two values", `1 2`, `"1 2"`},
		{"no UTF-8", "\"\xff\"", `"�"`},
	} {
		if got := string(JSON([]byte(tt.in), maxPayload)); got != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

func TestPayloadIsCutAndStaysJSON(t *testing.T) {
	long := strings.Repeat("long ", 40_000)
	for name, in := range map[string]string{
		"array":             "[" + strings.Repeat(`{"id":1,"title":"x"},`, 20_000) + "1]",
		"object":            `{"a":"` + long + `","b":` + strings.Repeat("[", 500) + strings.Repeat("]", 500) + "}",
		"string":            `"` + long + `"`,
		"escapes":           `"` + strings.Repeat(`\u0001`, 100_000) + `"`,
		"number":            strings.Repeat("9", 100_000),
		"key":               `{"` + long + `":1}`,
		"escapes in keys":   `{"` + strings.Repeat(`\u0001`, 100_000) + `":1,"` + long + `":2}`,
		"deep":              strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000),
		"never closed":      strings.Repeat("[", 200_000),
		"no JSON":           strings.Repeat("\x01<", 100_000),
		"JSON in text":      string(quoted("[" + strings.Repeat(`{"id":"\"\""},`, 20_000) + "1]")),
		"many escapes":      "[" + strings.Repeat(`"\u0001\u0001\u0001",`, 30_000) + "1]",
		"text after budget": `["` + strings.Repeat("x", maxPayload) + `","` + long + `","` + long + `"]`,
	} {
		got := JSON([]byte(in), maxPayload)
		if !json.Valid(got) {
			t.Errorf("%s: not JSON: …%s", name, got[max(0, len(got)-200):])
		}
		if len(got) > maxPayload {
			t.Errorf("%s: %d bytes, want at most %d", name, len(got), maxPayload)
		}
		if name == "array" && !bytes.Contains(got, []byte("[cut: 420003 bytes in all]")) {
			t.Errorf("%s: the cut is not visible: …%s", name, got[len(got)-100:])
		}
	}
}

func TestCutDoesNotRevealHalfASecret(t *testing.T) {
	in := strings.Repeat("x", maxPayload-1034) + " " + github
	got := JSON(quoted(in), maxPayload)
	if bytes.Contains(got, []byte("ghp_")) {
		t.Errorf("a secret at the cut is shown: …%s", got[len(got)-100:])
	}
	if text := Cut(strings.Repeat("x", maxError-10)+" "+github, maxError); strings.Contains(text, "ghp_") || len(text) > maxError {
		t.Errorf("an error ends with …%s", text[len(text)-20:])
	}
}

func FuzzPayload(f *testing.F) {
	for _, s := range []string{`{"a":[1,"x",null,true]}`, `{"token":{"a":[1]}}`, `"[1,2"`, `[[[`, `{"a":1}{}`, "\xff", `"{\"a\":\"[1]\"}"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got := JSON(data, maxPayload)
		if len(bytes.TrimSpace(data)) == 0 {
			if got != nil {
				t.Fatalf("payload(%q) = %q, want nil", data, got)
			}
			return
		}
		if !json.Valid(got) || len(got) > maxPayload {
			t.Fatalf("payload(%q) = %q", data, got)
		}
	})
}
