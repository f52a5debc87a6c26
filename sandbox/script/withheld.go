package script

import "strings"

// Advice for features that other runtimes offer and this one does not.
const (
	noNetwork  = "there is no network here; use a fetch-like tool of a server, through its wrapper or callMCPTool"
	noPackages = "there are no packages here; import from './servers/…', or use callMCPTool"
	noFiles    = "there are no files here; use the tools of a filesystem server, through its wrapper or callMCPTool"
	noProcess  = "there is no process and no environment here; print with console.log, end with return"
	noBrowser  = "this is not a browser; there are the language, console, timers and callMCPTool"
	noRuntime  = "this is not Node, Deno or Bun; there are the language, console, timers and callMCPTool"
)

// Withheld maps globals of other runtimes to the advice in the error for their use. They do not
// exist here: neither typeof nor globalThis finds them.
var Withheld = map[string]string{
	"fetch":          noNetwork,
	"XMLHttpRequest": noNetwork,
	"WebSocket":      noNetwork,
	"EventSource":    noNetwork,
	"require":        noPackages,
	"module":         noExports,
	"exports":        noExports,
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

// builtins maps the modules of Node, and packages like them, to the reason they are missing or the
// global that replaces them. "Did you mean" would not help there.
var builtins = map[string]string{
	"fs": noFiles, "os": noProcess, "process": noProcess, "readline": noProcess, "tty": noProcess,
	"worker_threads": noProcess, "cluster": noProcess, "http": noNetwork, "https": noNetwork,
	"http2": noNetwork, "net": noNetwork, "tls": noNetwork, "dns": noNetwork, "dgram": noNetwork,
	"axios": noNetwork, "node-fetch": noNetwork, "undici": noNetwork, "got": noNetwork,
	"ky": noNetwork, "superagent": noNetwork, "ws": noNetwork,
	"module": noRuntime, "vm": noRuntime, "v8": noRuntime, "async_hooks": noRuntime, "test": noRuntime,

	"child_process":   "no commands run here; use the tools of a server that runs them, through its wrapper or callMCPTool",
	"path":            "there are no files here; join and split paths as text, with /",
	"crypto":          "crypto is a global, without import: crypto.randomUUID(), crypto.getRandomValues(array), await crypto.subtle.digest('SHA-256', bytes), and HMAC with crypto.subtle.importKey and sign",
	"uuid":            "crypto is a global, without import: crypto.randomUUID()",
	"timers":          "setTimeout, setInterval and setImmediate are globals, without import",
	"timers/promises": "setTimeout is a global, without import: await new Promise((done) => setTimeout(done, ms))",
	"buffer":          "Buffer, atob and btoa are globals, without import",
	"url":             "URL and URLSearchParams are globals, without import",
	"querystring":     "URLSearchParams is a global, without import",
	"string_decoder":  "TextDecoder is a global, without import",
	"perf_hooks":      "performance is a global, without import",
	"util":            "console.log shows objects as util.inspect does; TextEncoder, TextDecoder and structuredClone are globals; promisify what you need with new Promise",
	"events":          "EventTarget, Event and AbortController are globals, without import; instead of an EventEmitter keep a list of functions",
	"stream":          "use arrays, async generators and for await",
	"assert":          "throw new Error(…) where something is not as it should be",
}

// builtin returns what builtins says about a module; subfolders count as the module.
func builtin(name string) (reason string, ok bool) {
	name = strings.TrimPrefix(name, "node:")
	if reason, ok = builtins[name]; ok {
		return reason, true
	}
	first, _, _ := strings.Cut(name, "/")
	reason, ok = builtins[first]
	return reason, ok
}

// Absent returns the withheld names that the program mentions.
func (src *Source) Absent() map[string]bool {
	names := make(map[string]bool)
	for name := range Withheld {
		if src.Names[name] {
			names[name] = true
		}
	}
	return names
}
