package config

import (
	"path"
	"strings"
	"time"

	"github.com/tailscale/hujson"

	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
)

// Skills say where skills are found and which of them are used. Paths stand as
// they are written: Config.Resolve makes relative ones absolute.
type Skills struct {
	// Enabled uses skills; default true.
	Enabled *bool
	// Path is the folder into which skills are installed; default "skills" beside the
	// file. It has public/ and custom/.
	Path string
	// Paths are further folders with skills.
	Paths []string
	// Scan looks into folders that clients share, such as `.agents/skills`; default
	// true.
	Scan *bool
	// TrustProject uses the skills of any project, or of those in a list of folders.
	TrustProject bool
	// TrustedProjects are these folders.
	TrustedProjects []string
	// Include and Exclude are patterns of names, Exclude wins; default all.
	Include, Exclude []string
	// CatalogBudget is how many tokens the catalogue of skills may cost; default 1500.
	CatalogBudget int
	// Host is the program whose tools workflows name to models; default depends on the
	// client.
	Host string
	// HostTools are tools of that program beside those that are known; default none.
	HostTools []string
	// Subagent says that HostTools are all the tools that the model has.
	Subagent bool
	// Forms shows questions of workflows as forms where the client can; default true.
	Forms *bool
	// SessionDir is the folder of sessions of workflows; default "workflows" in the state
	// directory.
	SessionDir string
	// Scripts is where scripts of skills run; default "off".
	Scripts string
	// ScriptTimeout is the time limit of a script; default "30s".
	ScriptTimeout time.Duration
	// ScriptMaxOutput is how much is kept of each of its streams; default "20KiB".
	ScriptMaxOutput int64
	// ScriptCwd is the folder in which scripts start: also "tmp", or a path where Scripts
	// is "host"; default "skill".
	ScriptCwd string
	// ScriptImage is the image in which scripts run; default depends on the script.
	ScriptImage string
	// ScriptEnv are names of environment variables to pass to scripts; default none.
	ScriptEnv []string
	// ContainerPath is where containers find the files of skills; default "/mnt/skills".
	ContainerPath string
	// EnforceAllowedTools makes the allowed tools of skills a limit.
	EnforceAllowedTools bool
}

// Plugins say where plugins are installed, and which are in use.
type Plugins struct {
	// Path is the folder into which plugins are installed; default "plugins" beside the
	// file.
	Path string
	// AutoMergeMCP uses the servers of plugins; default true.
	AutoMergeMCP *bool
	// Enabled says by their names which plugins are in use, unless a command has
	// switched them; default all.
	Enabled map[string]bool
}

func (c *collector) skills(of func(string) string, to *Skills) field {
	return func(v hujson.Value) {
		seen := c.object(v, of("skills"), schema{
			"enabled":       c.optionalBool(of("skills.enabled"), &to.Enabled),
			"path":          c.text(of("skills.path"), &to.Path),
			"paths":         c.list(of("skills.paths"), &to.Paths, c.text),
			"scan":          c.optionalBool(of("skills.scan"), &to.Scan),
			"trustProject":  c.trust(of("skills.trustProject"), to),
			"include":       c.list(of("skills.include"), &to.Include, c.pattern),
			"exclude":       c.list(of("skills.exclude"), &to.Exclude, c.pattern),
			"catalogBudget": c.count(of("skills.catalogBudget"), &to.CatalogBudget, 1_000_000),
			"host":          c.choice("skills.host", &to.Host, "amp", "claude-code", "cline", "codex", "cursor", "gemini-cli", "generic", "kilo-code", "opencode", "roo-code"),
			"hostTools":     c.list(of("skills.hostTools"), &to.HostTools, c.text),
			"subagent":      c.boolean(of("skills.subagent"), &to.Subagent),
			"forms":         c.optionalBool(of("skills.forms"), &to.Forms),
			"sessionDir":    c.text(of("skills.sessionDir"), &to.SessionDir),

			"scripts":             c.choice("skills.scripts", &to.Scripts, "off", "sandbox", "host"),
			"scriptTimeout":       c.duration(of("skills.scriptTimeout"), &to.ScriptTimeout),
			"scriptMaxOutput":     c.size(of("skills.scriptMaxOutput"), &to.ScriptMaxOutput, 1<<10, 16<<20),
			"scriptCwd":           c.text(of("skills.scriptCwd"), &to.ScriptCwd),
			"scriptImage":         c.text(of("skills.scriptImage"), &to.ScriptImage),
			"scriptEnv":           c.list(of("skills.scriptEnv"), &to.ScriptEnv, c.variable),
			"containerPath":       c.containerPath(of("skills.containerPath"), &to.ContainerPath),
			"enforceAllowedTools": c.boolean(of("skills.enforceAllowedTools"), &to.EnforceAllowedTools),
		})
		if to.ScriptCwd != "" && to.ScriptCwd != "skill" && to.ScriptCwd != "tmp" && to.Scripts == "sandbox" {
			c.fail(seen["scriptCwd"], `"scriptCwd" is a folder of this host, which scripts in the sandbox do not see: write "skill" or "tmp"`)
		}
	}
}

func (c *collector) plugins(of func(string) string, to *Plugins) field {
	return func(v hujson.Value) {
		s := schema{
			"path":         c.text(of("plugins.path"), &to.Path),
			"autoMergeMCP": c.optionalBool(of("plugins.autoMergeMCP"), &to.AutoMergeMCP),
		}
		if obj, ok := v.Value.(*hujson.Object); ok {
			for _, m := range obj.Members { // beside these, objects are for plugins of that name
				name := m.Name.Value.(hujson.Literal).String()
				if m.Value.Value.Kind() == '{' && s[name] == nil {
					s[name] = c.plugin(of, name, to)
				}
			}
		}
		c.object(v, of("plugins"), s)
	}
}

// plugin reads what the config says of one plugin.
func (c *collector) plugin(of func(string) string, name string, to *Plugins) field {
	return func(v hujson.Value) {
		var enabled *bool
		c.object(v, of("plugins."+name), schema{
			"enabled": c.optionalBool(of("plugins."+name+".enabled"), &enabled), // uses the plugin of that name; default true
		})
		if enabled != nil {
			if to.Enabled == nil {
				to.Enabled = make(map[string]bool)
			}
			to.Enabled[name] = *enabled
		}
	}
}

// variable reads the name of a variable of the environment.
func (c *collector) variable(where string, to *string) field {
	return func(v hujson.Value) {
		c.text(where, to)(v)
		if v.Value.Kind() == '"' && (*to == "" || strings.ContainsAny(*to, "=$ \x00")) {
			c.fail(v.StartOffset, "%s: %s is no name of a variable: write NAME alone", where, quote(*to))
		}
	}
}

// systemFolders are those of a container that it cannot do without, or writes to.
var systemFolders = []string{
	"/bin", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/run", "/sbin", "/sys", "/tmp", "/usr", "/var/tmp",
}

var plainPath = lazyregexp.New(`^(/[A-Za-z0-9._-]+)+$`)

// containerPath reads the path of a folder that containers get.
func (c *collector) containerPath(where string, to *string) field {
	return func(v hujson.Value) {
		c.text(where, to)(v)
		dir := *to
		if v.Value.Kind() != '"' {
			return
		}
		if !plainPath.MatchString(dir) || path.Clean(dir) != dir {
			c.fail(v.StartOffset, `%s: %s is not a folder of a container: write an absolute path of letters, digits, ".", "_" and "-", without "..", such as "/mnt/skills"`, where, quote(dir))
			return
		}
		for _, system := range systemFolders {
			if strings.HasPrefix(dir+"/", system+"/") || strings.HasPrefix(system, dir+"/") {
				c.fail(v.StartOffset, `%s: %s would hide or change %s, which containers need: write another folder, such as "/mnt/skills"`, where, quote(dir), system)
				return
			}
		}
	}
}

// trust reads true, false or a list of folders.
func (c *collector) trust(where string, to *Skills) field {
	return func(v hujson.Value) {
		switch v.Value.Kind() {
		case 't', 'f':
			to.TrustProject = v.Value.Kind() == 't'
		case '[', '"':
			c.list(where, &to.TrustedProjects, c.text)(v)
		default:
			c.wrongType(v, where, "true, false or a list of folders")
		}
	}
}
