package upstream

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEnvironmentIsExplicit(t *testing.T) {
	environ := []string{
		"PATH=/bin", "HOME=/h", "LC_ALL=C", "AWS_SECRET_ACCESS_KEY=s", "GITHUB_TOKEN=s", "BROKER_ADMIN=s", "XDG_CACHE_HOME=/c",
		"HTTPS_PROXY=http://proxy:3128", "http_proxy=http://user:pass@proxy:3128", "NODE_EXTRA_CA_CERTS=/ca.pem",
		"npm_config_registry=https://r.example", "npm_config_//r.example/:_authToken=s", "NPM_CONFIG__AUTH=s",
		"UV_INDEX_URL=https://u:p@pypi.example/simple", "UV_CACHE_DIR=/uv", "UV_PUBLISH_TOKEN=s", "=C:=x", "EMPTY",
	}
	got := environment(environ, map[string]string{"HOME": "/other", "GITHUB_TOKEN": "configured"})
	want := []string{
		"GITHUB_TOKEN=configured", "HOME=/other", "HTTPS_PROXY=http://proxy:3128", "LC_ALL=C", "NODE_EXTRA_CA_CERTS=/ca.pem",
		"PATH=/bin", "UV_CACHE_DIR=/uv", "XDG_CACHE_HOME=/c", "npm_config_registry=https://r.example",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}

func TestCommandIsFoundInTheConfiguredPath(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no executable bit on Windows")
	}
	dir := t.TempDir()
	tool := filepath.Join(dir, "tool")
	if err := os.WriteFile(tool, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := lookPath("tool", "", []string{"PATH=/nowhere:" + dir}); got != tool || err != nil {
		t.Errorf("lookPath = %q, %v", got, err)
	}
	if _, err := lookPath("tool", "", []string{"PATH=/nowhere"}); err == nil {
		t.Error("found outside the configured PATH")
	}
	if got, err := lookPath("./tool", dir, nil); got != tool || err != nil {
		t.Errorf("relative to the directory: %q, %v", got, err)
	}
}

func TestRingKeepsTheEnd(t *testing.T) {
	r := newRing()
	r.copyFrom(strings.NewReader("first\n" + strings.Repeat("line\n", 200) + "\x1b[31mError: red\x1b[0m\u200b\n" + strings.Repeat("y", 10_000) + "\n    at frame"))
	lines := r.snapshot()
	if len(lines) != 100 || lines[97] != "Error: red" || lines[99] != "    at frame" || len(lines[98]) > 3000 {
		t.Errorf("%d lines, the last ones %.50q", len(lines), lines[97:])
	}
	if got := r.last(); got != "Error: red" {
		t.Errorf("last = %q", got)
	}
	r.copyFrom(strings.NewReader(strings.Repeat(strings.Repeat("z", 1000)+"\n", 50)))
	size := 0
	for _, l := range r.snapshot() {
		size += len(l)
	}
	if size > 16<<10 {
		t.Errorf("%d bytes are kept", size)
	}
}

func TestMissingVariableIsNamed(t *testing.T) {
	cfg := Config{Name: "s", Command: "c", Env: map[string]string{"KEY": "${NOPE}"}}
	p := newPool(t, &Options{Expand: func(s string) (string, error) {
		if strings.Contains(s, "${NOPE}") {
			return "", os.ErrNotExist
		}
		return s, nil
	}}, cfg)
	if st := p.Refresh(t.Context())[0]; st.State != StateFailed || !strings.HasPrefix(st.Err.Error(), "env.KEY: ") || st.Hint == "" {
		t.Errorf("status = %+v", st)
	}
}

func TestHintsFitTheCommand(t *testing.T) {
	for command, want := range map[string]string{"npx": "Node.js", "uvx": "install uv", "docker": "start it", "tool": "install tool"} {
		if got := startHint(command, os.ErrNotExist); !strings.Contains(got, want) {
			t.Errorf("%s: %q", command, got)
		}
	}
}

func TestDamagedInstallIsFound(t *testing.T) {
	tests := []struct{ line, want string }{
		{"Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'zod' imported from /h/.npm/_npx/c98ccc16/node_modules/a/index.js", "/h/.npm/_npx/c98ccc16"},
		{`Error: Cannot find module 'C:\npm\_npx\0a1b\node_modules\x\y.js'`, `C:\npm\_npx\0a1b`},
		{"Error: Cannot find module './x' in /srv/app/index.js", ""},
		{"at /h/.npm/_npx/c98ccc16/node_modules/a/index.js:1", ""},
	}
	for _, tt := range tests {
		if got := damagedInstall([]string{"first", tt.line}); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.line, got, tt.want)
		}
	}
}
