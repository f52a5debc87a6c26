package jsrun

import (
	"github.com/dop251/goja"
)

// What other runtimes offer and this one does not, and what a program uses
// instead.
const (
	noNetwork  = "there is no network here; use a fetch-like tool of a server, through its wrapper or callMCPTool"
	noPackages = "there are no packages here; import from './servers/…', or use callMCPTool"
	noFiles    = "there are no files here; use the tools of a filesystem server, through its wrapper or callMCPTool"
	noProcess  = "there is no process and no environment here; print with console.log, end with return"
	noBrowser  = "this is no browser; there are the language, console, timers and callMCPTool"
	noRuntime  = "this is no Node, Deno or Bun; there are the language, console, timers and callMCPTool"
)

// withheld are the globals of other runtimes that a program gets an error for
// which says what to use. They are not there: typeof finds nothing, and neither
// does globalThis.
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
	"__dirname":      noFiles,
	"__filename":     noFiles,
	"window":         noBrowser,
	"document":       noBrowser,
}

// absent throws the error of a withheld name that a program uses.
func (r *runtime) absent(c goja.FunctionCall) goja.Value {
	name := c.Argument(0).String()
	panic(r.failure("Error", name+" is not available: "+withheld[name]))
}

// builtins are the modules of Node, for which "did you mean" would be noise.
var builtins = map[string]string{
	"fs": noFiles, "path": noFiles, "os": noProcess, "process": noProcess, "child_process": noProcess,
	"worker_threads": noProcess, "cluster": noProcess, "http": noNetwork, "https": noNetwork,
	"http2": noNetwork, "net": noNetwork, "tls": noNetwork, "dns": noNetwork, "dgram": noNetwork,
	"axios": noNetwork, "node-fetch": noNetwork, "undici": noNetwork, "got": noNetwork,
	"ky": noNetwork, "superagent": noNetwork, "ws": noNetwork,
}
