package config

import (
	"path"
	"strings"
	"time"

	"github.com/tailscale/hujson"

	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
)

// Skills configure where skills are found and which of them are used. Paths are as
// they are written: Config.Resolve makes relative ones absolute.
type Skills struct {
	// Enabled uses skills.
	Enabled *bool `name:"enabled" default:"true" reload:"live"`
	// Path is the folder into which skills are installed; default "skills" beside the
	// file. It has public/ and custom/.
	Path string `name:"path" reload:"live"`
	// Paths are further folders with skills.
	Paths []string `name:"paths" reload:"live"`
	// Scan looks into folders that clients share, such as `.agents/skills`.
	Scan *bool `name:"scan" default:"true" reload:"live"`
	// TrustProject uses the skills of any project, or of those in a list of folders.
	TrustProject bool `name:"trustProject" read:"own" reload:"live"`
	// TrustedProjects are these folders.
	TrustedProjects []string
	// Include are patterns of names of skills to use; default all.
	Include []string `name:"include" read:"pattern" reload:"live"`
	// Exclude are patterns of names of skills that are not used, even if `include` matches
	// them; default none.
	Exclude []string `name:"exclude" read:"pattern" reload:"live"`
	// CatalogBudget is the highest number of tokens of the catalogue of skills; default 1500.
	CatalogBudget int `name:"catalogBudget" most:"1000000" reload:"live"`
	// Host is the program whose tools workflows name to models; default depends on the
	// client.
	Host string `name:"host" words:"amp claude-code cline codex cursor gemini-cli generic kilo-code opencode roo-code" reload:"live"`
	// HostTools are tools of that program beside those that are known; default none.
	HostTools []string `name:"hostTools" reload:"live"`
	// Subagent says that HostTools are all the tools that the model has.
	Subagent bool `name:"subagent" reload:"live"`
	// Forms shows questions of workflows as forms where the client can.
	Forms *bool `name:"forms" default:"true" reload:"live"`
	// SessionDir is the folder of sessions of workflows; default "workflows" in the state
	// directory.
	SessionDir string `name:"sessionDir" reload:"restart"`
	// Scripts is the place where scripts of skills run, if at all.
	Scripts string `name:"scripts" words:"off sandbox host" default:"off" reload:"live"`
	// ScriptTimeout is the time limit of a script.
	ScriptTimeout time.Duration `name:"scriptTimeout" default:"30s" reload:"live"`
	// ScriptMaxOutput is the size to which each of its streams is cut.
	ScriptMaxOutput int64 `name:"scriptMaxOutput" least:"1KiB" most:"16MiB" default:"20KiB" reload:"live"`
	// ScriptCwd is the folder in which scripts start: also "tmp", or a path where Scripts
	// is "host"; default "skill".
	ScriptCwd string `name:"scriptCwd" reload:"live"`
	// ScriptImage is the image in which scripts run; default depends on the script.
	ScriptImage string `name:"scriptImage" reload:"live"`
	// ScriptEnv are names of environment variables to pass to scripts; default none.
	ScriptEnv []string `name:"scriptEnv" read:"variable" reload:"live"`
	// ContainerPath is the path of the files of skills in containers.
	ContainerPath string `name:"containerPath" read:"containerPath" default:"/mnt/skills" reload:"live"`
	// EnforceAllowedTools makes the allowed tools of skills a limit.
	EnforceAllowedTools bool `name:"enforceAllowedTools" reload:"live"`
}

// Plugins say where plugins are installed, and which are in use.
type Plugins struct {
	// Path is the folder into which plugins are installed; default "plugins" beside the
	// file.
	Path string `name:"path" reload:"live"`
	// AutoMergeMCP uses the servers of plugins.
	AutoMergeMCP *bool `name:"autoMergeMCP" default:"true" reload:"live"`
	// Enabled says by their names which plugins are in use, unless a command has
	// switched them; default all.
	Enabled map[string]bool
}

func (c *collector) skills(of func(string) string, to *Skills) field {
	section := of("skills")
	within := func(key string) string { return of("skills." + key) }
	return func(v hujson.Value) {
		seen := c.object(v, section, c.settings(to, within, schema{"trustProject": c.trust(within("trustProject"), to)}))

		if to.ScriptCwd != "" && to.ScriptCwd != "skill" && to.ScriptCwd != "tmp" && to.Scripts == "sandbox" {
			c.fail(seen["scriptCwd"], `"scriptCwd" is a folder of this host, which scripts in the sandbox do not see: write "skill" or "tmp"`)
		}
	}
}

func (c *collector) plugins(of func(string) string, to *Plugins) field {
	return func(v hujson.Value) {
		s := c.settings(to, func(key string) string { return of("plugins." + key) }, nil)
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

// plugin reads the settings of one plugin.
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
			c.fail(v.StartOffset, "%s: %s is not the name of a variable: write NAME alone", where, quote(*to))
		}
	}
}

// systemFolders are folders that containers need or write to.
var systemFolders = []string{
	"/bin", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/run", "/sbin", "/sys", "/tmp", "/usr", "/var/tmp",
}

var plainPath = lazyregexp.New(`^(/[A-Za-z0-9._-]+)+$`)

// containerPath reads the path of a folder in containers.
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
