package launch

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
	got := Environment(environ, map[string]string{"HOME": "/other", "GITHUB_TOKEN": "configured"})
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
	if got, err := LookPath("tool", "", []string{"PATH=/nowhere:" + dir}); got != tool || err != nil {
		t.Errorf("lookPath = %q, %v", got, err)
	}
	if _, err := LookPath("tool", "", []string{"PATH=/nowhere"}); err == nil {
		t.Error("found outside the configured PATH")
	}
	if got, err := LookPath("./tool", dir, nil); got != tool || err != nil {
		t.Errorf("relative to the directory: %q, %v", got, err)
	}
}

func TestHintsFitTheCommand(t *testing.T) {
	for command, want := range map[string]string{"npx": "Node.js", "uvx": "install uv", "docker": "start it", "tool": "install tool"} {
		if got := StartHint(command, os.ErrNotExist); !strings.Contains(got, want) {
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

func TestCauseSaysWhy(t *testing.T) {
	for _, c := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"npm's report", []string{
			"npm warn Unknown user config", "npm error code ENOENT", "npm error syscall open", "npm error path /x/package.json", "npm error errno -2",
			"npm error enoent Could not read package.json: Error: ENOENT: no such file", "npm error enoent This is related to npm not being able to find a file.",
			"npm error enoent", "npm error A complete log of this run can be found in: /x.log",
		}, "npm error open /x/package.json: Could not read package.json: Error: ENOENT: no such file"},
		{"no such package", []string{
			"npm error code E404", "npm error 404 Not Found - GET https://registry.npmjs.org/nope - Not found", "npm error 404",
			"npm error 404  'nope@*' is not in this registry.", "npm error 404", "npm error 404 Note that you can also install from a",
			"npm error 404 tarball, folder, http url, or git folder.", "npm error A complete log of this run can be found in: /x.log",
		}, "npm error E404: Not Found - GET https://registry.npmjs.org/nope - Not found"},
		{"a script of a package", []string{
			"npm ERR! code 1", "npm ERR! path /x", "npm ERR! command failed", "npm ERR! command sh -c node install.js", "npm ERR! node:internal/modules:1228",
			"npm ERR! Error: Cannot find module 'y'", "npm ERR!     at f (a.js:1)", "npm ERR! A complete log of this run can be found in:", "npm ERR!     /x.log",
		}, "npm error Error: Cannot find module 'y'"},
		{"only warnings", []string{"npm warn deprecated x", "npm notice y"}, ""},
		{"a stack trace", []string{"TypeError: x is not a function", "    at f (a.js:1)", "    at g (error.js:2)", "}"}, "TypeError: x is not a function"},
		{"the newest otherwise", []string{"starting", "port 80 is taken"}, "port 80 is taken"},
		{"nothing", nil, ""},
	} {
		if got := Cause(c.lines); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestRunner(t *testing.T) {
	for line, want := range map[string]string{
		"npx -y pkg":                "npx",
		`/nodejs/NPX.CMD -y pkg`:    "npx",
		"/usr/bin/uvx pkg":          "uvx",
		"sh -c npx_-y_pkg":          "npx",
		"cmd /c npx -y pkg":         "npx",
		"env A=b pipx run pkg":      "pipx",
		"node server.js npx":        "",
		"/opt/npx-like/server":      "",
		"docker run -i --rm server": "docker",
	} {
		words := strings.Split(line, " ")
		for i := range words {
			words[i] = strings.ReplaceAll(words[i], "_", " ")
		}
		if got := Runner(words[0], words[1:]); got != want {
			t.Errorf("Runner(%q) = %q, want %q", line, got, want)
		}
	}
}
