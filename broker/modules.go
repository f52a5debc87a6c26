package broker

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/codegen"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/sandbox"
)

// modules returns the modules that a script may use, which are those of the
// servers whose folder or namespace occurs in its text: the cost of a run does
// not grow with the servers that it does not use. names are all that could be
// imported. A server that the script imports and that is still starting is
// waited for; one that cannot be reached is an error, because the import would
// only say that there is no such module.
func (b *Broker) modules(ctx context.Context, code string, wait time.Duration) (modules []sandbox.Module, names []string, err error) {
	_, scope := b.catalogs()
	waited := false
	for _, s := range scope.Servers() {
		name := s.Listing.Server
		if len(s.Tools) > 0 || !b.unlisted(name) || !mentions(code, s) {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, wait)
		err := b.pool.Wait(ctx, name)
		cancel()
		waited = true
		if err != nil && imports(code, s) {
			return nil, nil, fmt.Errorf("cannot import ./servers/%s: %w", s.Folder, b.unavailable(name, err))
		}
	}
	if waited {
		_, scope = b.catalogs()
	}
	names = append(names, "helpers/callMCPTool")
	for _, s := range scope.Servers() {
		names = append(names, codegen.ModulePath(s))
		if mentions(code, s) {
			m := codegen.RunModule(s)
			modules = append(modules, sandbox.Module{Path: m.Path, Source: m.Source, Exports: m.Exports, Global: m.Global})
		}
	}
	return modules, names, nil
}

func mentions(code string, s *discovery.Server) bool {
	return strings.Contains(code, s.Namespace) || strings.Contains(code, s.Folder)
}

// imports reports whether the code has a string that ends like an import of
// the server's folder or of a file in it.
func imports(code string, s *discovery.Server) bool {
	re := regexp.MustCompile(`servers/` + regexp.QuoteMeta(s.Folder) + `["'/.` + "`" + `]`)
	return re.MatchString(code)
}
