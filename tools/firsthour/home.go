package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// An entry is a server as one client's file has it.
type entry struct {
	client, name string
	command      []string
	env          map[string]string // what the client makes of its env, unset variables and inputs filled in
}

// key names an entry.
func (e entry) key() string { return e.client + " " + e.name }

// A home is a home folder of a user who has six clients.
type home struct {
	dir, project string
	entries      []entry
}

// slowServer is a script that needs 45 s before it starts a server.
const slowServer = "#!/bin/sh\nsleep 45\nexec npx -y @modelcontextprotocol/server-everything\n"

// files are the files of the clients. HOME is the home folder. Names repeat with
// other settings, variables are unset, VS Code asks for a key, Claude Code has
// servers of a project, one package does not exist, one entry is disabled.
var files = map[string]string{
	".claude.json": `{
  "numStartups": 12,
  "mcpServers": {
    "filesystem": {"type": "stdio", "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "HOME/notes"], "env": {}},
    "github": {"type": "stdio", "command": "npx", "args": ["-y", "@modelcontextprotocol/server-github"], "env": {"GITHUB_PERSONAL_ACCESS_TOKEN": "${GITHUB_TOKEN:-}"}},
    "slow": {"type": "stdio", "command": "HOME/bin/slow-server", "args": []}
  },
  "projects": {"HOME/project": {"allowedTools": [], "mcpServers": {
    "memory": {"type": "stdio", "command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"], "env": {"MEMORY_FILE_PATH": "HOME/project/memory.jsonl"}},
    "postgres": {"type": "stdio", "command": "npx", "args": ["-y", "@modelcontextprotocol/server-postgres", "postgresql://localhost/app"]}
  }}}
}
`,
	".cursor/mcp.json": `{
  // what I use at work
  "mcpServers": {
    "filesystem": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "HOME/work"]},
    "playwright": {"command": "npx", "args": ["@playwright/mcp@latest", "--headless"]},
    "notion": {"command": "npx", "args": ["-y", "@notionhq/notion-mcp-server"], "env": {"NOTION_TOKEN": "${env:NOTION_TOKEN}"}},
    "context7": {"command": "npx", "args": ["-y", "@upstash/context7-mcp"]},
    "gone": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-that-nobody-published"]},
  }
}
`,
	".config/Code/User/mcp.json": `{
  "inputs": [{"type": "promptString", "id": "firecrawl-key", "description": "Firecrawl key", "password": true}],
  "servers": {
    "firecrawl": {"type": "stdio", "command": "npx", "args": ["-y", "firecrawl-mcp"], "env": {"FIRECRAWL_API_KEY": "${input:firecrawl-key}"}},
    "everything": {"type": "stdio", "command": "npx", "args": ["-y", "@modelcontextprotocol/server-everything"]},
    "excel": {"type": "stdio", "command": "npx", "args": ["-y", "@negokaz/excel-mcp-server"], "env": {"EXCEL_MCP_PAGING_CELLS_LIMIT": "4000"}}
  }
}
`,
	".codex/config.toml": `model = "gpt-5"

[mcp_servers.memory]
command = "npx"
args = ["-y", "@modelcontextprotocol/server-memory"]
[mcp_servers.memory.env]
MEMORY_FILE_PATH = "HOME/memory.jsonl"

[mcp_servers.sequential-thinking]
command = "npx"
args = ["-y", "@modelcontextprotocol/server-sequential-thinking"]

[mcp_servers.slack]
command = "npx"
args = ["-y", "@modelcontextprotocol/server-slack"]
env = { SLACK_BOT_TOKEN = "xoxb-not-a-real-token", SLACK_TEAM_ID = "T012345" }
`,
	".gemini/settings.json": `{
  "mcpServers": {
    "maps": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-google-maps"], "env": {"GOOGLE_MAPS_API_KEY": "$GOOGLE_MAPS_API_KEY"}},
    "tavily": {"command": "npx", "args": ["-y", "tavily-mcp"], "env": {"TAVILY_API_KEY": "${TAVILY_API_KEY}"}},
    "everything": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-everything"]}
  }
}
`,
	".config/opencode/opencode.json": `{
  "$schema": "https://opencode.ai/config.json",
  "mcp": {
    "kubernetes": {"type": "local", "command": ["npx", "-y", "mcp-server-kubernetes"], "environment": {"KUBECONFIG": "{env:KUBECONFIG}"}},
    "sentry": {"type": "local", "command": ["npx", "-y", "@sentry/mcp-server"], "environment": {"SENTRY_ACCESS_TOKEN": "{env:SENTRY_TOKEN}"}},
    "filesystem": {"type": "local", "command": ["npx", "-y", "@modelcontextprotocol/server-filesystem", "HOME"], "enabled": false}
  }
}
`,
}

// makeHome makes a home in dir.
func makeHome(ctx context.Context, dir, cache string) (*home, error) {
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	h := &home{dir: dir, project: filepath.Join(dir, "project")}
	for _, folder := range []string{"notes", "work", "project", "bin"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			return nil, err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "bin", "slow-server"), []byte(slowServer), 0o755); err != nil {
		return nil, err
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "HOME", dir)), 0o600); err != nil {
			return nil, err
		}
	}
	if cache != "" {
		if out, err := exec.CommandContext(ctx, "cp", "-a", cache, filepath.Join(dir, ".npm")).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%w: %s", err, out)
		}
	}
	npx := func(client, name string, env map[string]string, args ...string) {
		h.entries = append(h.entries, entry{client: client, name: name, command: append([]string{"npx", "-y"}, args...), env: env})
	}
	npx("claude-code", "filesystem", nil, "@modelcontextprotocol/server-filesystem", dir+"/notes")
	npx("claude-code", "github", map[string]string{"GITHUB_PERSONAL_ACCESS_TOKEN": ""}, "@modelcontextprotocol/server-github")
	h.entries = append(h.entries, entry{client: "claude-code", name: "slow", command: []string{dir + "/bin/slow-server"}})
	npx("claude-code", "memory", map[string]string{"MEMORY_FILE_PATH": dir + "/project/memory.jsonl"}, "@modelcontextprotocol/server-memory")
	npx("claude-code", "postgres", nil, "@modelcontextprotocol/server-postgres", "postgresql://localhost/app")
	npx("cursor", "filesystem", nil, "@modelcontextprotocol/server-filesystem", dir+"/work")
	npx("cursor", "playwright", nil, "@playwright/mcp@latest", "--headless")
	npx("cursor", "notion", map[string]string{"NOTION_TOKEN": ""}, "@notionhq/notion-mcp-server")
	npx("cursor", "context7", nil, "@upstash/context7-mcp")
	npx("cursor", "gone", nil, "@modelcontextprotocol/server-that-nobody-published")
	npx("vscode", "firecrawl", map[string]string{"FIRECRAWL_API_KEY": "fc-typed-by-the-user"}, "firecrawl-mcp")
	npx("vscode", "everything", nil, "@modelcontextprotocol/server-everything")
	npx("vscode", "excel", map[string]string{"EXCEL_MCP_PAGING_CELLS_LIMIT": "4000"}, "@negokaz/excel-mcp-server")
	npx("codex", "memory", map[string]string{"MEMORY_FILE_PATH": dir + "/memory.jsonl"}, "@modelcontextprotocol/server-memory")
	npx("codex", "sequential-thinking", nil, "@modelcontextprotocol/server-sequential-thinking")
	npx("codex", "slack", map[string]string{"SLACK_BOT_TOKEN": "xoxb-not-a-real-token", "SLACK_TEAM_ID": "T012345"}, "@modelcontextprotocol/server-slack")
	npx("gemini", "maps", map[string]string{"GOOGLE_MAPS_API_KEY": "$GOOGLE_MAPS_API_KEY"}, "@modelcontextprotocol/server-google-maps")
	npx("gemini", "tavily", map[string]string{"TAVILY_API_KEY": "${TAVILY_API_KEY}"}, "tavily-mcp")
	npx("gemini", "everything", nil, "@modelcontextprotocol/server-everything")
	npx("opencode", "kubernetes", map[string]string{"KUBECONFIG": ""}, "mcp-server-kubernetes")
	npx("opencode", "sentry", map[string]string{"SENTRY_ACCESS_TOKEN": ""}, "@sentry/mcp-server")
	return h, nil
}

// environ is the environment of a login in this home.
func (h *home) environ() []string {
	env := []string{"HOME=" + h.dir, "PATH=" + os.Getenv("PATH"), "USER=me", "LANG=C.UTF-8", "BROKER_KEYRING=off"}
	for _, name := range []string{"NODE_EXTRA_CA_CERTS", "NPM_CONFIG_REGISTRY", "HTTPS_PROXY", "NO_PROXY"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}
