// Package clients reads and edits the files in which MCP clients store their servers: it reads
// them for an import, and adds and removes the broker.
//
// Read and ReadFile convert the entries of a client to those of servers.json, with notes about
// manual steps. Merge adds them to the text of a servers.json. Install writes the entry of the
// broker, and Uninstall undoes that byte for byte.
//
// References to variables and secrets are not resolved.
package clients

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// An Env determines the paths of clients' files. Its paths are absolute.
type Env struct {
	// OS is an operating system as in runtime.GOOS.
	OS string
	// Home is the user's home directory.
	Home string
	// Config is $XDG_CONFIG_HOME, or empty for ~/.config.
	Config string
	// AppData is %APPDATA%, used on Windows only.
	AppData string
	// Dir is the directory of the project.
	Dir string
	// Getenv returns variables of individual clients, such as CODEX_HOME. Nil means that none are
	// set.
	Getenv func(string) string
}

// CurrentEnv returns the Env of this process.
func CurrentEnv() (Env, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return Env{}, err
	}
	dir, err := os.Getwd()
	if err != nil {
		return Env{}, err
	}
	e := Env{OS: runtime.GOOS, Home: home, AppData: os.Getenv("APPDATA"), Dir: dir, Getenv: os.Getenv}
	if c := os.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(c) {
		e.Config = c
	}
	return e, nil
}

func (e Env) home(elem ...string) string { return filepath.Join(append([]string{e.Home}, elem...)...) }

func (e Env) project(elem ...string) string {
	return filepath.Join(append([]string{e.Dir}, elem...)...)
}

// xdg returns a path below ~/.config, which some clients use on all systems.
func (e Env) xdg(elem ...string) string {
	if e.Config != "" {
		return filepath.Join(append([]string{e.Config}, elem...)...)
	}
	return e.home(append([]string{".config"}, elem...)...)
}

// appSupport returns a path below the system's directory for settings of programs.
func (e Env) appSupport(elem ...string) string {
	switch {
	case e.OS == "darwin":
		return e.home(append([]string{"Library", "Application Support"}, elem...)...)
	case e.OS == "windows" && e.AppData != "":
		return filepath.Join(append([]string{e.AppData}, elem...)...)
	case e.OS == "windows":
		return e.home(append([]string{"AppData", "Roaming"}, elem...)...)
	}
	return e.xdg(elem...)
}

// pathBelow returns a path below the directory in the variable, or otherwise below that directory
// in the home directory.
func (e Env) pathBelow(variable, dir string, elem ...string) string {
	if e.Getenv != nil {
		if d := e.Getenv(variable); filepath.IsAbs(d) {
			return filepath.Join(append([]string{d}, elem...)...)
		}
	}
	return e.home(append([]string{dir}, elem...)...)
}

// A Client is a program that stores MCP servers in a file.
type Client struct {
	// ID is its name on the command line, Title the name that its makers use.
	ID, Title string

	format  fileFormat
	root    []string // the keys that contain the servers
	dialect dialect
	// project and user return its files; the broker is added to the first one if none exists.
	// project is nil if there is no such file.
	project, user func(Env) []string
	// entry returns the broker's entry in the client's format.
	entry func(Launch) entryFields
	// withholds means that it passes on few variables, and expands none.
	withholds bool
}

// All returns the known clients, in the order of lists.
func All() []*Client { return slices.Clone(all) }

// HasProject reports whether the client has a file for a project.
func (c *Client) HasProject() bool { return c.project != nil }

// Lookup returns the client of that ID, or nil.
func Lookup(id string) *Client {
	for _, c := range all {
		if c.ID == id {
			return c
		}
	}
	return nil
}

// IDs returns the names of all clients.
func IDs() []string {
	ids := make([]string, len(all))
	for i, c := range all {
		ids[i] = c.ID
	}
	return ids
}

// Found reports whether e has a user's file of c, or the folder for it, and returns the path of
// the file.
func Found(c *Client, e Env) (path string, ok bool) {
	for _, path := range c.user(e) {
		if _, err := os.Stat(path); err == nil {
			return path, true
		}
	}
	for _, path := range c.user(e) {
		if dir, err := os.Stat(filepath.Dir(path)); err == nil && dir.IsDir() && filepath.Dir(path) != e.Home {
			return path, true
		}
	}
	return "", false
}

var mcpServers = []string{"mcpServers"}

var all = []*Client{
	{
		ID: "claude-code", Title: "Claude Code", format: jsonFile{}, root: mcpServers, dialect: claudeDialect,
		project: func(e Env) []string { return []string{e.project(".mcp.json")} },
		user: func(e Env) []string {
			return []string{e.pathBelow("CLAUDE_CONFIG_DIR", "", ".claude.json")}
		},
		entry: claudeCodeEntry,
	}, {
		ID: "claude-desktop", Title: "Claude Desktop", format: jsonFile{}, root: mcpServers, dialect: plainDialect,
		user:  func(e Env) []string { return []string{e.appSupport("Claude", "claude_desktop_config.json")} },
		entry: plainEntry, withholds: true,
	}, {
		ID: "cursor", Title: "Cursor", format: jsonFile{}, root: mcpServers, dialect: editorDialect,
		project: func(e Env) []string { return []string{e.project(".cursor", "mcp.json")} },
		user:    func(e Env) []string { return []string{e.home(".cursor", "mcp.json")} },
		entry:   editorEntry,
	}, {
		ID: "vscode", Title: "VS Code", format: jsonFile{}, root: []string{"servers"}, dialect: editorDialect,
		project: func(e Env) []string { return []string{e.project(".vscode", "mcp.json")} },
		user: func(e Env) []string {
			return []string{e.appSupport("Code", "User", "mcp.json"), e.appSupport("Code - Insiders", "User", "mcp.json"),
				e.appSupport("VSCodium", "User", "mcp.json")}
		},
		entry: typedEntry,
	}, {
		ID: "codex", Title: "Codex", format: tomlFile{}, root: []string{"mcp_servers"}, dialect: codexDialect,
		project: func(e Env) []string { return []string{e.project(".codex", "config.toml")} },
		user:    func(e Env) []string { return []string{e.pathBelow("CODEX_HOME", ".codex", "config.toml")} },
		entry:   codexEntry,
	}, {
		ID: "gemini", Title: "Gemini CLI", format: jsonFile{}, root: mcpServers, dialect: geminiDialect,
		project: func(e Env) []string { return []string{e.project(".gemini", "settings.json")} },
		user:    func(e Env) []string { return []string{e.home(".gemini", "settings.json")} },
		entry:   geminiEntry,
	}, {
		ID: "windsurf", Title: "Windsurf", format: jsonFile{}, root: mcpServers, dialect: editorDialect,
		user: func(e Env) []string {
			return []string{e.home(".codeium", "windsurf", "mcp_config.json"), e.home(".codeium", "mcp_config.json")}
		},
		entry: editorEntry,
	}, {
		ID: "zed", Title: "Zed", format: jsonFile{}, root: []string{"context_servers"}, dialect: zedDialect,
		project: func(e Env) []string { return []string{e.project(".zed", "settings.json")} },
		user: func(e Env) []string {
			if e.OS == "windows" {
				return []string{e.appSupport("Zed", "settings.json")}
			}
			return []string{e.xdg("zed", "settings.json")}
		},
		entry: zedEntry,
	}, {
		ID: "opencode", Title: "opencode", format: jsonFile{}, root: []string{"mcp"}, dialect: opencodeDialect,
		project: func(e Env) []string { return []string{e.project("opencode.json"), e.project("opencode.jsonc")} },
		user: func(e Env) []string {
			return []string{e.xdg("opencode", "opencode.json"), e.xdg("opencode", "opencode.jsonc")}
		},
		entry: opencodeEntry,
	},
}

// byFile guesses the client of a file from its path, or returns nil.
func byFile(path string) *Client {
	slashed := "/" + strings.TrimPrefix(filepath.ToSlash(path), "/")
	for suffix, id := range map[string]string{
		"/.mcp.json": "claude-code", "/.claude.json": "claude-code", "/claude_desktop_config.json": "claude-desktop",
		"/.cursor/mcp.json": "cursor", "/.vscode/mcp.json": "vscode", "/User/mcp.json": "vscode",
		"/.codex/config.toml": "codex", "/.gemini/settings.json": "gemini", "/windsurf/mcp_config.json": "windsurf",
		"/zed/settings.json": "zed", "/.zed/settings.json": "zed",
		"/opencode.json": "opencode", "/opencode.jsonc": "opencode",
	} {
		if strings.HasSuffix(slashed, suffix) {
			return Lookup(id)
		}
	}
	return nil
}

// generic describes files of an unknown client.
func generic(path string) *Client {
	if strings.EqualFold(filepath.Ext(path), ".toml") {
		return &Client{ID: "file", Title: "the file", format: tomlFile{}, root: []string{"mcp_servers"}, dialect: codexDialect}
	}
	title, d := "the file", anyDialect
	slashed := "/" + filepath.ToSlash(path)
	switch {
	case strings.HasSuffix(slashed, ".mcpproxy/mcp_config.json"):
		title = "mcpproxy"
	case strings.HasSuffix(slashed, "/cline_mcp_settings.json"):
		title, d = "Cline", clineDialect
	case strings.HasSuffix(slashed, "/.roo/mcp.json"), strings.HasSuffix(slashed, "/mcp_settings.json"):
		title, d = "Roo Code", clineDialect
	case strings.HasSuffix(slashed, "/.kiro/settings/mcp.json"):
		title, d = "Kiro", kiroDialect
	}
	return &Client{ID: "file", Title: title, format: jsonFile{}, dialect: d}
}
