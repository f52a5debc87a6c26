package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/internal/redact"
)

func parse(t *testing.T, text string) *Config {
	t.Helper()
	cfg, err := Parse("dir/servers.json", []byte(text))
	if err != nil {
		t.Fatalf("Parse:\n%v", err)
	}
	return cfg
}

func TestParseReadsEverything(t *testing.T) {
	got := parse(t, "\ufeff"+`// servers of the team
{
	"$schema": "https://example.com/schema.json",
	"mcpServers": {
		"zeta": { // the order of the file counts
			"command": "C:\\Program Files\\x.exe",
			"args": ["-y", 3000, true, "${HOME}/x", "$${plain}", "$5"],
			"env": {"PORT": 3000, "DEBUG": false, "TOKEN": "${env:TOKEN}", "OLD": null},
			"cwd": "sub",
			"url": null,
			"description": "first",
			"tools": {"allow": ["get_*"], "deny": "get_secret"},
			"keepAlive": "5m", "startTimeout": "1m30s", "callTimeout": 2.5, "maxConcurrent": 4, "instances": "project",
		},
		"Alpha Beta": {"type": "streamable-http", "url": "https://example.com/mcp?x=1", "headers": {"Authorization": "Bearer ${keyring:alpha}", "X-N": 1}},
		"s": {"type": "sse", "url": "http://localhost:1/sse", "disabled": true, "keepAlive": true},
		"w": {"serverUrl": "https://${HOST:-example.com}/", "enabled": false},
		"c": {"command": "x", "tools": ["*"], "autoApprove": []},
	},
	"broker": {
		"mode": "auto", "autoThreshold": 5, "language": "python", "timeout": "1m", "maxTimeout": 300, "maxOutputChars": 500,
		"readonly": true, "typecheck": "/usr/bin/tsgo", "notedReads": false, "learn": true,
		"audit": {"payloads": true, "days": 7}, "search": {"wait": 0},
		"sandbox": {"isolation": "container", "require": ["seccomp", "landlock"], "memory": "0.5 GiB", "maxCalls": 9, "inFlight": 2},
		"http": {"tokens": {"ci": "${CI_TOKEN}"}, "adminToken": "${ADMIN}"},
		"skills": {
			"enabled": true, "path": "s", "paths": ["a", "~/b",], "scan": false, "trustProject": ["/work"], "include": ["x-*"], "exclude": "old-*", "catalogBudget": 900,
			"scripts": "host", "scriptTimeout": "1m", "scriptMaxOutput": "64KiB", "scriptCwd": "/work", "scriptImage": "my/tools", "scriptEnv": ["LANG"], "containerPath": "/srv/skills.d", "enforceAllowedTools": true,
			"host": "codex", "hostTools": ["question"], "subagent": true, "forms": false, "sessionDir": "~/sessions",
		},
		"plugins": {"path": "p", "autoMergeMCP": false, "sales": {"enabled": false}, "path-finder": {}},
	},
}`)
	yes, no := true, false
	want := &Config{
		Path: "dir/servers.json", Name: "servers",
		Servers: []Server{
			{
				Name: "zeta", Description: "first", Type: "stdio", Command: `C:\Program Files\x.exe`, Dir: "sub",
				Args: []string{"-y", "3000", "true", "${HOME}/x", "$${plain}", "$5"},
				Env:  map[string]string{"PORT": "3000", "DEBUG": "false", "TOKEN": "${env:TOKEN}"}, Allow: []string{"get_*"}, Deny: []string{"get_secret"},
				IdleTimeout: 5 * time.Minute, StartTimeout: 90 * time.Second, CallTimeout: 2500 * time.Millisecond, InFlight: 4, Instances: "project",
			},
			{Name: "Alpha Beta", Type: "http", URL: "https://example.com/mcp?x=1", Headers: map[string]string{"Authorization": "Bearer ${keyring:alpha}", "X-N": "1"}},
			{Name: "s", Type: "sse", URL: "http://localhost:1/sse", Disabled: true, KeepAlive: true},
			{Name: "w", URL: "https://${HOST:-example.com}/", Disabled: true},
			{Name: "c", Type: "stdio", Command: "x", Allow: []string{"*"}},
		},
		Broker: Broker{
			Mode: "auto", AutoThreshold: 5, Language: "python", Timeout: time.Minute, MaxTimeout: 5 * time.Minute, MaxOutputChars: 500,
			ReadOnly: true, Typecheck: "/usr/bin/tsgo", NotedReads: &no, Learn: &yes,
			Audit: Audit{Payloads: true, Days: 7}, Search: Search{Wait: new(time.Duration)},
			Sandbox: Sandbox{Isolation: "container", Require: []string{"seccomp", "landlock"}, Memory: 512 << 20, MaxCalls: 9, InFlight: 2},
			HTTP:    HTTP{Tokens: map[string]Token{"ci": {Value: "${CI_TOKEN}"}}, AdminToken: "${ADMIN}"},
			Skills: Skills{
				Enabled: &yes, Path: "s", Paths: []string{"a", "~/b"}, Scan: &no, TrustedProjects: []string{"/work"},
				Include: []string{"x-*"}, Exclude: []string{"old-*"}, CatalogBudget: 900,
				Scripts: "host", ScriptTimeout: time.Minute, ScriptMaxOutput: 64 << 10, ScriptCwd: "/work", ScriptImage: "my/tools", ScriptEnv: []string{"LANG"}, ContainerPath: "/srv/skills.d", EnforceAllowedTools: true,
				Host: "codex", HostTools: []string{"question"}, Subagent: true, Forms: &no, SessionDir: "~/sessions",
			},
			Plugins: Plugins{Path: "p", AutoMergeMCP: &no, Enabled: map[string]bool{"sales": false}},
		},
		Notes: []string{
			`dir/servers.json:17:9: "serverUrl" of server "w" is read as "url"`,
			`dir/servers.json:18:41: unknown key "autoApprove" in server "c" is ignored`,
			`dir/servers.json:21:19: "autoThreshold" of "broker" is 5, a number of tools: it counts tokens of definitions from 100 on, such as 1500`,
			`dir/servers.json:22:3: "readonly" in "broker" is read as "readOnly"`,
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Parse (-want +got):\n%s", diff)
	}
	if s := got.Server("s"); s == nil || !s.Remote() || got.Server("S") != nil {
		t.Errorf("Server finds %v", s)
	}
}

func TestParseReadsTheFileOfVSCode(t *testing.T) {
	cfg := parse(t, `{"inputs": [], "servers": {"a": {"type": "stdio", "command": "x"}}}`)
	if len(cfg.Servers) != 1 || cfg.Servers[0].Name != "a" || len(cfg.Notes) != 0 {
		t.Errorf("servers %v, notes %v", cfg.Servers, cfg.Notes)
	}
	cfg = parse(t, `{"servers": {"a": {"command": "x"}}, "mcpServers": {"b": {"command": "x"}}}`)
	if len(cfg.Servers) != 1 || cfg.Servers[0].Name != "b" || len(cfg.Notes) != 1 {
		t.Errorf("with both keys: servers %v, notes %v", cfg.Servers, cfg.Notes)
	}
}

func TestNothingIsADefault(t *testing.T) {
	cfg := parse(t, `{"mcpServers": {}} // end`)
	yes := true
	want := Broker{
		Mode: "code", AutoThreshold: 1500, Language: "typescript", Timeout: 30 * time.Second, MaxTimeout: 2 * time.Minute,
		MaxOutputChars: 10_000, Pins: "on", Durability: "normal", StateFailure: "read", Typecheck: "auto", NotedReads: &yes, Learn: &yes, Redact: Redact{Secrets: &yes}, Audit: Audit{Code: &yes, Days: 30},
		Sandbox: Sandbox{Isolation: "auto", Runner: "goja", Memory: 256 << 20, MaxCode: 256 << 10, MaxResult: 16 << 20, MaxOutput: 64 << 20, MaxCalls: 500, InFlight: 16},
		Skills:  Skills{Enabled: &yes, Scan: &yes, Forms: &yes, Scripts: "off", ScriptTimeout: 30 * time.Second, ScriptMaxOutput: 20 << 10, ContainerPath: "/mnt/skills"},
		Plugins: Plugins{AutoMergeMCP: &yes},
	}
	if diff := cmp.Diff(want, cfg.Broker.WithDefaults()); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	if got := (Broker{MaxTimeout: time.Second}).WithDefaults().Timeout; got != time.Second {
		t.Errorf("default timeout %s, want it within the longest one", got)
	}
}

func TestReportsHideWhatMayBeASecret(t *testing.T) {
	for _, text := range []string{
		`{"mcpServers": {"a": {"command": "x", "env": {"T": "s3cret` + "\n" + `"}}}}`,
		`{"mcpServers": {"a": {"command": "x", "env": {"T": "s3cret\q"}}}}`,
		`{"mcpServers": {"a": {"command": "x", "env": {"T": s3cret}}}}`,
		`{"mcpServers": {"a": {"command": "x", "env": {"T": "${A?s3cret`,
		`{"mcpServers": {"a": {"command": "x", "env": {"T": "${A:-s3cret"}}}}`,
		`{"mcpServers": {"a": {"url": "htp://s3cret"}}}`,
		`{"mcpServers": {"a": {"command": "x", "env": {"T": ["s3cret"]}}}}`,
	} {
		_, err := Parse("f", []byte(text))
		if err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("Parse(%s) = %v, want an error without the secret", text, err)
		}
	}
}

func TestEncodings(t *testing.T) {
	for _, tt := range []struct{ name, data, want string }{
		{"UTF-16", "\xff\xfe{\x00}\x00", "f:1:1: the file is UTF-16: save it as UTF-8"},
		{"Latin-1", "{\n \"mcpServers\": {\"\xe9\": {}}}", "f:2:18: the file is not UTF-8 from here on: save it as UTF-8"},
		{"brackets", strings.Repeat("[", 1<<20), "f:1:201: nested more than 200 levels deep: not a servers.json"},
		{"replacement character, then a wrong byte", "{\"\ufffd\": \"\xff\"}", "f:1:8: the file is not UTF-8 from here on: save it as UTF-8"},
		{"blank", " \n\t", "f:1:1: " + emptyFile},
		{"huge", strings.Repeat(" ", maxFileBytes+1), "f:1:1: the file is larger than 16 MiB: not a servers.json"},
	} {
		_, err := Parse("f", []byte(tt.data))
		if err == nil || err.Error() != tt.want {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
}

func TestColumnsCountCharacters(t *testing.T) {
	_, err := Parse("f", []byte("{\r\n\"mcpServers\": {\"日本\": 1}}"))
	if err == nil || !strings.HasPrefix(err.Error(), "f:2:22: ") {
		t.Errorf("Parse = %v, want a mistake at 2:22", err)
	}
}

func TestReportIsBounded(t *testing.T) {
	text := `{"mcpServers": {` + strings.Repeat(`"":1,`, 5000) + `}}`
	_, err := Parse("f", []byte(text))
	r, ok := errors.AsType[*Report](err)
	if !ok || len(r.Mistakes) != maxMistakes || r.More != 5000-maxMistakes || !strings.HasSuffix(r.Error(), "f: and 4900 more") {
		t.Errorf("Parse = %v", err)
	}
}

func TestExpand(t *testing.T) {
	env := map[string]string{"A": "1", "EMPTY": "", "B_2": "${A}", "ProgramFiles(x86)": "C:"}
	lookup := func(k string) (string, bool) { v, ok := env[k]; return v, ok }
	for _, tt := range []struct{ in, want, err string }{
		{"", "", ""},
		{"plain $A $ {A} }", "plain $A $ {A} }", ""},
		{"${A}", "1", ""},
		{"x${A}${env:A}y", "x11y", ""},
		{"${B_2}", "${A}", ""}, // values are not expanded again
		{"${A:-2}${EMPTY:-2}${NO:-}${env:NO:-a:-b}", "12a:-b", ""},
		{"${EMPTY}", "", ""},
		{"${env:ProgramFiles(x86)}", "C:", ""},
		{"$${A} $$${A}", "${A} $${A}", ""},
		{"${NO}", "", "environment variable NO is not set"},
		{"${keyring:x}", "", "no keyring"},
		{"${A", "", "never closed"},
		{"${A-x}", "", "did you mean ${A:-…}?"},
		{"${input:x}", "", "not known"},
		{"${}", "", "not a reference"},
		{"${1A}", "", "not a reference"},
	} {
		got, err := Sources{Env: lookup}.Expand(tt.in)
		if tt.err == "" && (err != nil || got != tt.want) {
			t.Errorf("Expand(%q) = %q, %v, want %q", tt.in, got, err, tt.want)
		}
		if tt.err != "" && (err == nil || got != "" || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("Expand(%q) = %q, %v, want the error %q", tt.in, got, err, tt.err)
		}
	}
}

// What leaves for a model has no secrets: the name of the variable that is missing
// must not look like one.
func TestMissingSecretIsNamed(t *testing.T) {
	_, err := Sources{Env: func(string) (string, bool) { return "", false }}.Expand("Bearer ${API_TOKEN}")
	if text := fmt.Sprintf("connect to api: in headers.Authorization, %v", err); redact.Text(text) != text || !strings.Contains(text, "API_TOKEN is not set") {
		t.Errorf("%s\nis shown as\n%s", text, redact.Text(text))
	}
}

func TestFind(t *testing.T) {
	here, home := t.TempDir(), t.TempDir()
	t.Chdir(here)
	t.Setenv("XDG_CONFIG_HOME", home)
	write := func(path string) string {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(`{"mcpServers":{}}`), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if _, err := Find(""); !errors.Is(err, ErrNoConfig) || !strings.Contains(err.Error(), "broker import") {
		t.Errorf("Find with no file = %v, want ErrNoConfig and what to do", err)
	}
	if _, err := Find("none.json"); !errors.Is(err, ErrNoConfig) || !strings.Contains(err.Error(), "none.json") {
		t.Errorf("Find(none.json) = %v", err)
	}
	if _, err := Find(here); err == nil || errors.Is(err, ErrNoConfig) {
		t.Errorf("Find(directory) = %v", err)
	}
	inHome := write(filepath.Join(home, "broker", fileName))
	if got, err := Find(""); err != nil || got != inHome {
		t.Errorf("Find = %q, %v, want %q", got, err, inHome)
	}
	write(filepath.Join(here, fileName))
	if got, err := Find(""); err != nil || got != fileName {
		t.Errorf("Find = %q, %v, want the file here", got, err)
	}
	if got, err := Find(inHome); err != nil || got != inHome {
		t.Errorf("Find(flag) = %q, %v", got, err)
	}
	cfg, err := Load(inHome)
	if err != nil || cfg.Path != inHome {
		t.Errorf("Load = %v, %v", cfg, err)
	}
	if _, err := Load("none.json"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Load(none.json) = %v", err)
	}
}

func TestStateDir(t *testing.T) {
	state, work := t.TempDir(), t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	t.Chdir(work)
	dir := func(flag, path string) string {
		t.Helper()
		d, err := StateDir(flag, path)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(d)
		if err != nil || !info.IsDir() || (os.PathSeparator == '/' && info.Mode().Perm() != 0o700) {
			t.Errorf("StateDir(%q, %q) = %s: %v, %v", flag, path, d, info, err)
		}
		return d
	}
	if err := os.WriteFile(fileName, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	first := dir("", fileName)
	if filepath.Dir(first) != filepath.Join(state, "broker") || !strings.HasPrefix(filepath.Base(first), "servers-") {
		t.Errorf("state directory %s", first)
	}
	if again := dir("", filepath.Join(work, fileName)); again != first {
		t.Errorf("the absolute path gives %s, want %s", again, first)
	}
	if other := dir("", filepath.Join(t.TempDir(), fileName)); other == first {
		t.Error("two files share a state directory")
	}
	if err := os.Symlink(fileName, "link.json"); err == nil && dir("", "link.json") != first {
		t.Error("a link to the file has another state directory")
	}
	if odd := filepath.Base(dir("", ".mcp ü.json")); !strings.HasPrefix(odd, "mcp__-") {
		t.Errorf("state directory of an odd name: %s", odd)
	}
	if got := dir("sub/state", fileName); !strings.HasSuffix(got, filepath.Join("sub", "state")) || !filepath.IsAbs(got) {
		t.Errorf("StateDir(flag) = %s", got)
	}
	if got := filepath.Base(dir("", "")); got != "default" {
		t.Errorf("without a file: %s", got)
	}
	if _, err := StateDir(fileName, ""); err == nil || !strings.Contains(err.Error(), "--state-dir") {
		t.Errorf("StateDir(a file) = %v", err)
	}
}

func TestResolve(t *testing.T) {
	dir := t.TempDir()
	cfg := &Config{Path: filepath.Join(dir, fileName)}
	for in, want := range map[string]string{"": "", "v.bin": filepath.Join(dir, "v.bin"), dir: dir} {
		if got := cfg.Resolve(in); got != want {
			t.Errorf("Resolve(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{"mcpServers": {"a": {"command": "x", "args": ["${A:-b}", 1]}}, "broker": {"timeout": "1s"}}`,
		"{\n\"mcpServers\": {\"a\" {}}}", `{"a": "\u00zz"}`, "{'a'", "/* x", "\"a\nb", `{"broker": {"sandbox": {"memory": "1e99GiB"}}}`, "\xef\xbb\xbf{}", "// ü", `{"servers":[`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		cfg, err := Parse("f", data)
		if (cfg == nil) == (err == nil) {
			t.Fatalf("Parse = %v, %v: want one of them", cfg, err)
		}
		r, ok := errors.AsType[*Report](err)
		if err == nil {
			return
		}
		if !ok || len(r.Mistakes) == 0 {
			t.Fatalf("Parse = %v, want a *Report with mistakes", err)
		}
		lines := strings.Split(strings.TrimPrefix(string(data), "\ufeff"), "\n")
		for i, m := range r.Mistakes {
			if m.Line < 1 || m.Line > len(lines) || m.Column < 1 || m.Column > len([]rune(lines[m.Line-1]))+1 || m.Text == "" {
				t.Fatalf("mistake %+v is not in the file", m)
			}
			if i > 0 && (m.Line < r.Mistakes[i-1].Line || m.Line == r.Mistakes[i-1].Line && m.Column < r.Mistakes[i-1].Column) {
				t.Fatalf("mistakes are not sorted: %v", r.Mistakes)
			}
		}
	})
}

func FuzzExpand(f *testing.F) {
	for _, s := range []string{"${A}", "$${A}", "${A:-${B}}", "${keyring:x}", "a$", "${"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := Sources{Env: func(string) (string, bool) { return "v", true }}.Expand(s)
		if bad := checkRefs(s); bad != nil && (err == nil || bad.off < 0 || bad.off >= len(s)) {
			t.Fatalf("checkRefs(%q) = %+v, but Expand = %q, %v", s, bad, got, err)
		}
		if err == nil && !strings.Contains(s, "${") && got != s {
			t.Fatalf("Expand(%q) = %q, want it unchanged", s, got)
		}
	})
}

func TestAPasswordInTheAddressOfADatabaseIsNoted(t *testing.T) {
	for address, want := range map[string]bool{
		"postgres://u:s3cret@h/d":               true,
		"postgres://h/d?user=u&password=s3cret": true,
		"postgres://u:${P}@h/d":                 false,
		"postgres://h/d?password=${P}":          false,
		"postgres://u@h/d?sslmode=require":      false,
	} {
		cfg, err := Parse("f", []byte(`{"mcpServers": {}, "broker": {"state": "`+address+`"}}`))
		if err != nil {
			t.Fatal(err)
		}
		notes := strings.Join(cfg.Notes, "\n")
		if strings.Contains(notes, "password in a file") != want || strings.Contains(notes, "s3cret") {
			t.Errorf("%s: notes %q", address, notes)
		}
	}
}

// Instructions of servers are switched off, cut elsewhere or replaced.
func TestInstructionsSettings(t *testing.T) {
	for value, want := range map[string]Instructions{
		"true": {}, "false": {Off: true}, "1": {MaxChars: 1}, "4000": {MaxChars: 4000}, `"Ask first."`: {Text: "Ask first."},
	} {
		c, err := Parse("f.json", []byte(`{"mcpServers": {"s": {"command": "x", "instructions": `+value+`}}}`))
		if err != nil || c.Servers[0].Instructions != want {
			t.Errorf("%s: %+v, %v", value, c, err)
		}
	}
	for value, want := range map[string]string{
		"0": "from 1 to 4000", "4001": "from 1 to 4000", "-1": "from 1 to 4000", `""`: "write false to show nothing", `" \t"`: "write false to show nothing", "[]": "not a list",
		`{"text": "x"}`: "not an object", `"` + strings.Repeat("é", 4001) + `"`: "has 4001 characters: write at most 4000",
	} {
		_, err := Parse("f.json", []byte(`{"mcpServers": {"s": {"command": "x", "instructions": `+value+`}}}`))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `"instructions" of server "s"`) {
			t.Errorf("%.40s: %v, want %q", value, err, want)
		}
	}
}
