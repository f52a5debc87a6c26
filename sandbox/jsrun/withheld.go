package jsrun

// What other runtimes offer and this one does not, and what a program uses
// instead.
const (
	noNetwork  = "there is no network here; use a fetch-like tool of a server, through its wrapper or callMCPTool"
	noPackages = "there are no packages here; import from './servers/…', or use callMCPTool"
	noFiles    = "there are no files here; use the tools of a filesystem server, through its wrapper or callMCPTool"
	noProcess  = "there is no process and no environment here; print with console.log, end with return"
	noRuntime  = "this is no Node, Deno or Bun; there are the language, console, timers and callMCPTool"
)

// withheld are the globals that answer with an error that says what to use.
var withheld = map[string]string{
	"fetch":          noNetwork,
	"XMLHttpRequest": noNetwork,
	"WebSocket":      noNetwork,
	"EventSource":    noNetwork,
	"require":        noPackages,
	"importScripts":  noPackages,
	"fs":             noFiles,
	"process":        noProcess,
	"Deno":           noRuntime,
	"Bun":            noRuntime,
}

// withheldNames is withheld in the form that the prelude takes.
func withheldNames() map[string]map[string]any {
	names := make(map[string]map[string]any, len(withheld))
	for name, reason := range withheld {
		object := name == "fs" || name == "process" || name == "Deno" || name == "Bun"
		names[name] = map[string]any{"message": name + " is not available: " + reason, "callable": !object}
	}
	return names
}

// builtins are the modules of Node, for which "did you mean" would be noise.
var builtins = map[string]string{
	"fs": noFiles, "path": noFiles, "os": noProcess, "process": noProcess, "child_process": noProcess,
	"worker_threads": noProcess, "cluster": noProcess, "http": noNetwork, "https": noNetwork,
	"http2": noNetwork, "net": noNetwork, "tls": noNetwork, "dns": noNetwork, "dgram": noNetwork,
	"axios": noNetwork, "node-fetch": noNetwork, "undici": noNetwork, "got": noNetwork,
	"ky": noNetwork, "superagent": noNetwork, "ws": noNetwork,
}
