package packages

import (
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery/launch"
	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
)

// runModule is "python -m" with the module as its first argument, but without the
// working folder in the module path if the module is installed. Python puts the working
// folder first, so a file there with the name of a module of the server or of the
// standard library would run. A module that is not installed is code of the folder.
const runModule = `import sys
here = sys.path[:1] == [""]
if here: del sys.path[0]
import importlib.util, os, runpy
name = sys.argv.pop(1)
try: installed = importlib.util.find_spec(name)
except (ImportError, ValueError): installed = None
if here and not installed: sys.path.insert(0, os.getcwd())
runpy._run_module_as_main(name)`

// pythons matches names of Python, and pythonFlags its options without a value.
var (
	pythons     = lazyregexp.New(`^(?:python|pypy)(?:\d+(?:\.\d+)?t?)?w?$|^py$`)
	pythonFlags = lazyregexp.New(`^-(?:[bBdEhiIOPqRsSuvVx?]+|\d+(?:\.\d+)?(?:-\d+)?)$`)
)

// InstalledModule returns c without the working folder in the module path if c is
// "python -m" of an installed module.
func InstalledModule(c launch.Command) launch.Command {
	name, from := programName(c.Program), 0
	if slices.Contains(wrappers, name) && name != "cmd" { // their arguments cannot have line breaks
		from = 1 + slices.IndexFunc(c.Args, func(a string) bool { return pythons.MatchString(programName(a)) })
		if from == 0 {
			return c
		}
		name = programName(c.Args[from-1])
	}
	if !pythons.MatchString(name) {
		return c
	}
	for i := from; i < len(c.Args); i++ {
		arg := c.Args[i]
		flags, module, isModule := strings.Cut(arg, "m")
		switch {
		case arg == "-W" || arg == "-X" || arg == "--check-hash-based-pycs":
			i++
		case strings.HasPrefix(arg, "-W") || strings.HasPrefix(arg, "-X") || pythonFlags.MatchString(arg):
		case isModule && (flags == "-" || pythonFlags.MatchString(flags)):
			rest := c.Args[i+1:]
			if module == "" {
				if len(rest) == 0 {
					return c
				}
				module, rest = rest[0], rest[1:]
			}
			args := slices.Clone(c.Args[:i])
			if flags != "-" {
				args = append(args, flags)
			}
			c.Args = slices.Concat(args, []string{"-c", runModule, module}, rest)
			return c
		default:
			return c // a script, -c or an unknown option
		}
	}
	return c
}
