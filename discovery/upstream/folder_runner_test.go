package upstream

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/mcpbroker/mcpbroker/discovery"
)

// serverInNode is an MCP server whose only tool is described by its working folder.
const serverInNode = `#!/usr/bin/env node
require("readline").createInterface({input: process.stdin}).on("line", line => {
	const m = JSON.parse(line)
	const results = {
		"initialize": {protocolVersion: "2025-11-25", serverInfo: {name: "n", version: "1"}, capabilities: {tools: {}}},
		"tools/list": {tools: [{name: "where", description: process.cwd(), inputSchema: {type: "object"}}]},
	}
	const r = results[m.method]
	if (m.id !== undefined) console.log(JSON.stringify(r ? {jsonrpc: "2.0", id: m.id, result: r} : {jsonrpc: "2.0", id: m.id, error: {code: -32601, message: "no"}}))
})
`

// A package runner does not run programs in the working folder of its server, and the
// server starts in that folder.
func TestPlantedProgramsOfAProject(t *testing.T) {
	if _, err := exec.LookPath("npx"); err != nil || runtime.GOOS == "windows" {
		t.Skip("needs npx and a shell")
	}
	t.Parallel()
	pkg, dir := t.TempDir(), t.TempDir()
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	write := func(text string, path ...string) {
		t.Helper()
		file := filepath.Join(path...)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"name": "in-node", "version": "1.0.0", "bin": "run.js"}`, pkg, "package.json")
	write(serverInNode, pkg, "run.js")
	ran := filepath.Join(t.TempDir(), "ran")
	for _, name := range []string{"node", "in-node", "sh"} {
		write("#!/bin/sh\necho "+name+" >> "+ran+"\n", dir, "node_modules", ".bin", name)
	}
	write("script-shell="+filepath.Join(dir, "node_modules", ".bin", "sh")+"\n", dir, ".npmrc")
	env := map[string]string{"HOME": t.TempDir(), "npm_config_cache": t.TempDir(), "npm_config_offline": "true"}
	for _, c := range []struct {
		packages string
		args     []string
	}{
		{"", []string{"-y", pkg}},
		{t.TempDir(), []string{"-y", "--package=" + pkg, "-c", "in-node"}},
	} {
		p := NewPool([]Config{{Name: "n", Command: "npx", Args: c.args, Dir: dir, Env: env}}, &Options{PackageDir: c.packages})
		err := p.Wait(t.Context(), "n")
		var tools []discovery.ListedTool
		if l := p.Listings(); len(l) == 1 {
			tools = l[0].Tools
		}
		switch said, _ := os.ReadFile(ran); {
		case len(said) > 0:
			t.Errorf("%q: the folder's own %s ran", c.args, said)
		case err != nil:
			t.Errorf("%q: %v", c.args, err)
		case len(tools) != 1 || tools[0].Description != dir:
			t.Errorf("%q: it says %v, want the folder %s", c.args, tools, dir)
		}
		p.Close()
	}
}

const serverInPython = `import sys, os, json, optional
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m: continue
    if m["method"] == "initialize": r = {"protocolVersion": "2025-06-18", "serverInfo": {"name": "p", "version": "1"}, "capabilities": {"tools": {}}}
    elif m["method"] == "tools/list": r = {"tools": [{"name": "where", "description": os.getcwd() + " " + optional.whose, "inputSchema": {"type": "object"}}]}
    else:
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "error": {"code": -32601, "message": "no"}}), flush=True)
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
`

// An installed Python module starts in the folder of a client without importing from
// it. A configured folder contains the server's modules.
func TestPlantedModulesOfAProject(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("needs python3")
	}
	t.Parallel()
	installed, dir := t.TempDir(), t.TempDir()
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	for file, text := range map[string]string{
		filepath.Join(installed, "served.py"): serverInPython, filepath.Join(installed, "optional.py"): "whose = 'installed'\n", filepath.Join(dir, "optional.py"): "whose = 'planted'\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	written := Config{Name: "p", Command: "python3", Args: []string{"-m", "served"}, Env: map[string]string{"PYTHONPATH": installed}}
	named := written
	named.Dir = dir
	for name, c := range map[string]struct {
		cfg  Config
		want string
	}{
		"the folder of a client": {written.apart(dir), dir + " installed"}, "a folder of the configuration": {named, dir + " planted"},
		"a client in a folder of the configuration": {named.apart(dir), dir + " planted"},
	} {
		p := newPool(t, nil, c.cfg)
		err := p.Wait(t.Context(), "p")
		if l := p.Listings(); err != nil || len(l) != 1 || len(l[0].Tools) != 1 || l[0].Tools[0].Description != c.want {
			t.Errorf("%s: %v, %+v, want %q", name, err, l, c.want)
		}
	}
}
