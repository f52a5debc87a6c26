package upstream

import (
	"path"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
)

// Sharing says who shares one running instance of a server.
type Sharing string

// Who may share an instance. The one that lists the tools is there in any case.
const (
	Shared     Sharing = "shared"  // everybody
	PerClient  Sharing = "client"  // the calls of one conversation
	PerProject Sharing = "project" // the conversations in one project folder
)

// A knownServer is what is known of a published server.
type knownServer struct {
	sharing Sharing
	// maxConcurrent is for servers that lose what several calls write at once.
	maxConcurrent int
	// isolate is the argument without which two instances are in each other's way,
	// unless one of own is there.
	isolate string
	own     []string
}

var (
	everybody = knownServer{sharing: Shared}
	perClient = knownServer{sharing: PerClient}
	inProject = knownServer{sharing: PerProject}
	oneWriter = knownServer{sharing: Shared, maxConcurrent: 1}
	browser   = knownServer{sharing: PerClient, isolate: "--isolated",
		own: []string{"--isolated", "--user-data-dir", "--userDataDir", "--cdp-endpoint", "--browserUrl", "--wsEndpoint", "--autoConnect", "--extension", "--config", "--storage-state"}}
)

// knownServers are servers by the name of their package, image or command, where
// their tools do not say enough.
var knownServers = map[string]knownServer{
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

// known finds a server by a word of its command line; its name comes with it.
func (c Config) known() (k knownServer, name string, ok bool) {
	command := strings.TrimSuffix(path.Base(strings.ReplaceAll(c.Command, `\`, "/")), ".exe")
	for w := range strings.FieldsSeq(command + " " + strings.Join(c.Args, " ")) {
		for _, name := range []string{w, packageVersion.ReplaceAllString(w, "$1"), installed(w)} {
			if k, ok := knownServers[name]; ok {
				return k, name, true
			}
		}
	}
	return knownServer{}, "", false
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

// sharing decides who shares an instance of a server with these tools, and says
// why. asks means that it has asked a client something during a call.
func (c Config) sharing(tools []discovery.ListedTool, asks bool) (s Sharing, why string) {
	if c.usesFolder() && c.Instances != PerClient {
		return PerProject, "it names ${workspaceFolder}"
	}
	if c.Instances != "" {
		return c.Instances, "configured"
	}
	if k, name, ok := c.known(); ok {
		return k.sharing, "usual for " + name
	}
	if asks {
		return PerClient, "it asks its client questions"
	}
	for _, t := range tools {
		if keepsState(t) {
			return PerClient, "its tool " + t.Name + " may depend on earlier calls"
		}
	}
	return Shared, "no tool seems to depend on earlier calls"
}

var (
	// stateWords are words in the names of tools that act on what an earlier call
	// has opened, and stateVerbs first words of those that open or choose it.
	stateWords = []string{"session", "navigate", "click", "snapshot", "attach", "step", "breakpoint", "rollback"}
	stateVerbs = []string{"set", "select", "switch", "begin", "activate", "use"}
	nameWords  = lazyregexp.New(`[A-Z]?[a-z]+|[A-Z]+`)
)

// keepsState reports whether the name of a tool says that calls follow on each
// other.
func keepsState(t discovery.ListedTool) bool {
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

// apart is c for an instance that others run beside, in a project's folder if c
// names none.
func (c Config) apart(folder string) Config {
	c.folder = folder
	if c.Dir == "" && c.Command != "" {
		c.Dir = folder
	}
	k, _, _ := c.known()
	if k.isolate == "" || slices.ContainsFunc(c.Args, func(a string) bool {
		name, _, _ := strings.Cut(a, "=")
		return slices.Contains(k.own, name)
	}) {
		return c
	}
	c.Args = append(slices.Clone(c.Args), k.isolate)
	return c
}
