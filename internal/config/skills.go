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
	// Enabled false means that there are no skills; default true.
	Enabled *bool
	// Path is the folder with public/ and custom/, into which skills are
	// installed; default "skills" beside the configuration file.
	Path string
	// Paths are further folders with skills.
	Paths []string
	// Scan looks into the folders that several clients share, such as
	// .agents/skills of the project and of the user; default true.
	Scan *bool
	// TrustProject uses the skills of any project that the broker is started in,
	// TrustedProjects those of the projects in these folders; default none.
	TrustProject    bool
	TrustedProjects []string
	// Include and Exclude are patterns of names in the style of path.Match.
	// Without Include, all are included; Exclude wins.
	Include, Exclude []string
	// Scripts says where scripts of skills run: "off", "sandbox" or "host";
	// default "off".
	Scripts string
	// ScriptTimeout and ScriptMaxOutput bound a script and what is kept of each of
	// its streams; default 30 s and 20 KiB.
	ScriptTimeout   time.Duration
	ScriptMaxOutput int64
	// ScriptCwd is the folder that scripts start in: "skill", which is the
	// default, "tmp", or with Scripts "host" the path of one.
	ScriptCwd string
	// ScriptImage is the image that scripts run in instead of that which suits
	// them.
	ScriptImage string
	// ScriptEnv are names of variables of the broker's that scripts get too.
	ScriptEnv []string
	// ContainerPath is the folder in which programs in containers find the files
	// of skills; default "/mnt/skills".
	ContainerPath string
	// EnforceAllowedTools makes what skills declare as allowed tools a limit.
	EnforceAllowedTools bool
	// CatalogBudget is how many tokens the catalogue of skills may cost; default
	// 1,500.
	CatalogBudget int
	// Forms false leaves the questions of workflows to the model, also where the
	// client can show forms; default true.
	Forms *bool
	// SessionDir keeps the sessions of workflows; default "workflows" in the state
	// directory.
	SessionDir string
}

// Plugins say where plugins are installed, and which are in use.
type Plugins struct {
	// Path is the folder that they are in; default "plugins" beside the
	// configuration file.
	Path string
	// AutoMergeMCP takes the servers of plugins in; default true.
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
		c.object(v, of("plugins."+name), schema{"enabled": c.optionalBool(of("plugins."+name+".enabled"), &enabled)})
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
