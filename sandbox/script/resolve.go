package script

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/mcpbroker/mcpbroker/internal/nearest"
	"github.com/mcpbroker/mcpbroker/sandbox"
)

// namespace is the namespace in which esbuild finds modules: in memory only.
const namespace = "vfs"

// bridgePath is the module with callMCPTool. Its source takes the bridge from the parameters of
// the function around the script.
const (
	bridgePath   = "helpers/callMCPTool"
	bridgeSource = "export const callMCPTool = $call, ToolError = $error;\nexport default callMCPTool;\n"
)

// A resolver resolves imports for esbuild. It does not change after newResolver, so it is safe for
// concurrent use.
type resolver struct {
	sources map[string]string
	modules map[string]sandbox.Module
	names   []string // all importable names, sorted
	scope   string
}

func newResolver(p *Program) *resolver {
	v := &resolver{
		sources: map[string]string{bridgePath: bridgeSource},
		modules: make(map[string]sandbox.Module, len(p.Modules)),
		names:   slices.Clone(p.ModuleNames),
		scope:   p.Scope,
	}
	for _, m := range p.Modules {
		v.modules[m.Path] = m
		v.names = append(v.names, m.Path)
		if m.Path != bridgePath && m.Unusable == "" {
			v.sources[m.Path] = m.Source
		}
	}
	v.names = append(v.names, bridgePath)
	slices.Sort(v.names)
	v.names = slices.Compact(v.names)
	return v
}

func (v *resolver) plugin() api.Plugin {
	return api.Plugin{Name: "modules", Setup: func(b api.PluginBuild) {
		b.OnResolve(api.OnResolveOptions{Filter: ".*"}, v.resolve)
		b.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: namespace}, v.load)
	}}
}

func (v *resolver) resolve(args api.OnResolveArgs) (api.OnResolveResult, error) {
	key, ok := v.beside(args)
	if !ok {
		key, ok = v.find(args.Path)
	}
	if ok {
		effects := api.SideEffectsFalse
		if m, ok := v.modules[key]; ok && len(m.Exports) == 0 {
			effects = api.SideEffectsTrue // not known to be free of side effects
		}
		return api.OnResolveResult{Path: key, Namespace: namespace, SideEffects: effects}, nil
	}
	return api.OnResolveResult{Errors: []api.Message{{Text: v.unknown(args.Path)}}}, nil
}

// beside returns the key of a module that another module imports by a path relative to its own, or
// to its folder if it is an index.
func (v *resolver) beside(args api.OnResolveArgs) (string, bool) {
	if args.Namespace != namespace || !strings.HasPrefix(args.Path, "./") && !strings.HasPrefix(args.Path, "../") {
		return "", false
	}
	for _, dir := range []string{path.Dir(args.Importer), args.Importer} {
		key := normalize(path.Join(dir, args.Path))
		if _, ok := v.sources[key]; ok {
			return key, true
		}
	}
	return "", false
}

// find returns the key of the module that an import names: its path, or path:name for a single
// export.
func (v *resolver) find(name string) (string, bool) {
	key := normalize(name)
	if _, ok := v.sources[key]; ok {
		return key, true
	}
	if key == "helpers" || key == "callMCPTool" || key == "helpers/types" {
		return bridgePath, true
	}
	dir, tool := path.Split(key)
	m, ok := v.modules[strings.TrimSuffix(dir, "/")]
	if ok && slices.Contains(m.Exports, tool) {
		return m.Path + ":" + tool, true
	}
	return "", false
}

// normalize converts the many forms of an import to a module's path.
func normalize(name string) string {
	name = strings.TrimPrefix(name, "@/")
	for {
		rest := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(name, "./"), "../"), "/")
		if rest == name {
			break
		}
		name = rest
	}
	for _, ext := range []string{".ts", ".js", ".mts", ".mjs", "/"} {
		name = strings.TrimSuffix(name, ext)
	}
	return strings.TrimSuffix(name, "/index")
}

func (v *resolver) load(args api.OnLoadArgs) (api.OnLoadResult, error) {
	text, ok := v.sources[args.Path]
	if !ok {
		i := strings.LastIndexByte(args.Path, ':')
		module, tool := args.Path[:i], args.Path[i+1:]
		text = fmt.Sprintf("export { %s, %s as default } from %q;\n", tool, tool, module)
	}
	if wrong := largeIntegersOf(args.Path, text); len(wrong) > 0 {
		return api.OnLoadResult{Errors: wrong}, nil
	}
	return api.OnLoadResult{Contents: &text, Loader: api.LoaderTS}, nil
}

// largeIntegersOf returns an error for each integer literal of a module that a number
// cannot represent.
func largeIntegersOf(module, text string) (wrong []api.Message) {
	if !mayHoldLargeIntegers(text) {
		return nil
	}
	Scan(text).largeIntegers(func(offset int, message string) {
		line, _, _ := (&Lines{text: text}).line(offset)
		wrong = append(wrong, api.Message{Text: fmt.Sprintf("line %d: %s", line, message), Location: &api.Location{File: namespace + ":" + module, Line: line}})
	})
	return wrong
}

// unknown returns the advice for an import of an unknown module. For a server's module
// it includes what limits the program.
func (v *resolver) unknown(name string) string {
	text := v.unknownModule(name)
	if strings.HasPrefix(normalize(name), "servers/") {
		text = within(text, v.scope)
	}
	return text
}

// within adds the program's scope to a message.
func within(message, scope string) string {
	if scope == "" {
		return message
	}
	return message + " (" + scope + ")"
}

func (v *resolver) unknownModule(name string) string {
	if reason, ok := builtin(name); ok {
		if server := "servers/" + normalize(name); slices.Contains(v.names, server) {
			reason += "; the server is ./" + server
		}
		return fmt.Sprintf("cannot find module %q: %s", name, reason)
	}
	key := normalize(name)
	if why := v.modules[key].Unusable; why != "" {
		return fmt.Sprintf("module %q cannot be imported: %s", name, why)
	}
	if dir, tool := path.Split(key); tool != "" {
		if m, ok := v.modules[strings.TrimSuffix(dir, "/")]; ok {
			return fmt.Sprintf("%s has no tool %q%s", m.Path, tool, didYouMean(tool, m.Exports))
		}
	}
	if slices.Contains(v.names, key) {
		return fmt.Sprintf("module %q is not available at the moment", name)
	}
	if near := nearestModules(key, v.names); len(near) > 0 {
		return fmt.Sprintf("cannot find module %q; did you mean %s?", name, quoteAll(near))
	}
	if strings.HasPrefix(name, "node:") || !strings.HasPrefix(name, ".") && !strings.Contains(name, "servers") {
		return fmt.Sprintf("cannot find module %q: %s", name, noPackages)
	}
	kind, _, _ := strings.Cut(key, "/")
	return fmt.Sprintf("cannot find module %q%s", name, v.list(kind+"/"))
}

// nearestModules returns the names of similar modules. A common prefix of all modules of a kind
// does not count.
func nearestModules(name string, names []string) []string {
	kind, rest, ok := strings.Cut(name, "/")
	if !ok || !slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, kind+"/") }) {
		return nearest.Names(name, names, 3)
	}
	var known []string
	for _, n := range names {
		if inner, ok := strings.CutPrefix(n, kind+"/"); ok {
			known = append(known, inner)
		}
	}
	near := nearest.Names(rest, known, 3)
	for i := range near {
		near[i] = kind + "/" + near[i]
	}
	return near
}

// maxListed bounds the modules that are listed if none is similar.
const maxListed = 8

// list lists some modules, preferably those that begin with kind.
func (v *resolver) list(kind string) string {
	var servers []string
	for _, n := range v.names {
		if n != bridgePath {
			servers = append(servers, n)
		}
	}
	ofKind := func(n string) bool { return strings.HasPrefix(n, kind) }
	if slices.ContainsFunc(servers, ofKind) {
		servers = slices.DeleteFunc(servers, func(n string) bool { return !ofKind(n) })
	}
	if len(servers) == 0 {
		return "; no server has tools here"
	}
	more := ""
	if n := len(servers) - maxListed; n > 0 {
		servers, more = servers[:maxListed], fmt.Sprintf(" and %d more", n)
	}
	return "; there are " + quoteAll(servers) + more
}

func quoteAll(modules []string) string {
	quoted := make([]string, len(modules))
	for i, m := range modules {
		quoted[i] = "./" + m
	}
	return strings.Join(quoted, ", ")
}

// didYouMean returns the end of a sentence about an unknown name.
func didYouMean(name string, known []string) string {
	near := slices.DeleteFunc(nearest.Names(name, known, 3), func(n string) bool { return n == name })
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(near, ", ") + "?"
}
