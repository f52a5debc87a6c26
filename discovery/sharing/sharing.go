// Package sharing describes published servers: which clients may share a running
// instance, and what their tools can do. It knows servers by name, and judges the tools
// of others by their names.
package sharing

import (
	"path"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
)

// A Kind is who shares one running instance of a server.
type Kind string

// Clients that may share an instance. An additional instance always lists the tools.
const (
	Shared     Kind = "shared"  // everybody
	PerClient  Kind = "client"  // the calls of one conversation
	PerProject Kind = "project" // the conversations in one project folder
)

// A Server is what is known of a published server.
type Server struct {
	Kind Kind
	// MaxConcurrent is for servers that lose what several calls write at once.
	MaxConcurrent int
	// Isolate is the argument without which two instances are in each other's way,
	// unless one of Own is there.
	Isolate string
	Own     []string
}

var (
	everybody = Server{Kind: Shared}
	perClient = Server{Kind: PerClient}
	inProject = Server{Kind: PerProject}
	oneWriter = Server{Kind: Shared, MaxConcurrent: 1}
	browser   = Server{Kind: PerClient, Isolate: "--isolated",
		Own: []string{"--isolated", "--user-data-dir", "--userDataDir", "--cdp-endpoint", "--browserUrl", "--wsEndpoint", "--autoConnect", "--extension", "--config", "--storage-state"}}
)

// published are servers by the name of their package, image or command, where
// their tools do not say enough.
var published = map[string]Server{
	"@playwright/mcp":                  browser,
	"mcp/playwright":                   browser,
	"mcr.microsoft.com/playwright/mcp": browser,
	"chrome-devtools-mcp":              browser,

	"@executeautomation/playwright-mcp-server":         perClient,
	"@modelcontextprotocol/server-puppeteer":           perClient,
	"mcp/puppeteer":                                    perClient,
	"@browserbasehq/mcp":                               perClient,
	"@browserbasehq/mcp-server-browserbase":            perClient,
	"@angiejones/mcp-selenium":                         perClient,
	"@agent-infra/mcp-server-browser":                  perClient,
	"@wonderwhy-er/desktop-commander":                  perClient,
	"ssh-mcp":                                          perClient,
	"tmux-mcp":                                         perClient,
	"jupyter-mcp-server":                               perClient,
	"@modelcontextprotocol/server-sequential-thinking": perClient,
	"mcp/sequentialthinking":                           perClient,
	"@modelcontextprotocol/server-everything":          perClient,
	"mcp/everything":                                   perClient,

	"@modelcontextprotocol/server-filesystem": inProject,
	"mcp/filesystem":                       inProject,
	"mcp-server-git":                       inProject,
	"mcp/git":                              inProject,
	"@cyanheads/git-mcp-server":            inProject,
	"git+https://github.com/oraios/serena": inProject,
	"serena":                               inProject,
	"serena-mcp-server":                    inProject,
	"ast-grep-server":                      inProject,
	"mcp-language-server":                  inProject,

	"@modelcontextprotocol/server-memory": oneWriter,
	"mcp/memory":                          oneWriter,
	"mcp-telegram":                        everybody, // a token has one poller
	"telegram-mcp":                        everybody,
}

// packageVersion is what may follow the name of a package or image.
var packageVersion = lazyregexp.New(`(.)(@|==|:)[\w.~^*+-]+$`)

// Known finds a server by a word of its command line; its name comes with it.
func Known(command string, args []string) (k Server, name string, ok bool) {
	return lookup(published, command, args)
}

// lookup finds the entry of a published server in a table, by a word of its command
// line.
func lookup[T any](table map[string]T, command string, args []string) (found T, name string, ok bool) {
	program := strings.TrimSuffix(path.Base(strings.ReplaceAll(command, `\`, "/")), ".exe")
	for w := range strings.FieldsSeq(program + " " + strings.Join(args, " ")) {
		for _, name := range []string{w, packageVersion.ReplaceAllString(w, "$1"), installed(w)} {
			if found, ok := table[name]; ok {
				return found, name, true
			}
		}
	}
	return found, "", false
}

// installed is the package of npm that a file belongs to, such as the program that
// node is started with.
func installed(file string) string {
	_, name, _ := strings.Cut(strings.ReplaceAll(file, `\`, "/"), "node_modules/")
	parts := strings.Split(name, "/")
	if strings.HasPrefix(name, "@") && len(parts) > 1 {
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}

var (
	// stateWords are words in the names of tools that act on state from an earlier
	// call, and stateVerbs first words of tools that create or select it.
	stateWords = []string{"session", "navigate", "click", "snapshot", "attach", "step", "breakpoint", "rollback"}
	stateVerbs = []string{"set", "select", "switch", "begin", "activate", "use"}
	nameWords  = lazyregexp.New(`[A-Z]?[a-z]+|[A-Z]+`)
)

// KeepsState reports whether the name of a tool suggests that its calls depend on
// earlier ones.
func KeepsState(t discovery.ListedTool) bool {
	if t.Annotations.ReadOnly != nil && *t.Annotations.ReadOnly {
		return false
	}
	words := nameWords.FindAllString(t.Name, -1)
	for i, w := range words {
		w = strings.ToLower(w)
		if slices.Contains(stateWords, w) || i == 0 && slices.Contains(stateVerbs, w) {
			return true
		}
	}
	return false
}
