package run

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/mcpbroker/mcpbroker/broker/catalog"
	"github.com/mcpbroker/mcpbroker/codegen"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/sandbox"
)

// modules returns the modules of the servers that a script imports or names. If possible they have
// only the functions that it names, so that the cost of a run does not grow with unused servers
// and tools. names are the names of all modules. It waits for starting servers that the script
// uses, all at the same time and at most until ctx is done. An unreachable server that the script
// imports is an error, since the import alone would only report a missing module.
func (e *Executor) modules(ctx context.Context, lang sandbox.Language, code string) (modules []sandbox.Module, names []string, err error) {
	if lang == sandbox.Python {
		return e.pythonModules(ctx, code)
	}
	uses := func(s *discovery.Server) (imported, used bool) {
		imported = imports(code, s)
		return imported, imported || hasWord(code, s.Namespace, usedAsNamespace)
	}
	if err := e.awaitUsed(ctx, uses); err != nil {
		return nil, nil, err
	}
	full, scope := e.catalog.Both()
	names = append(names, "helpers/callMCPTool")
	words := wordsOf(code)
	for _, s := range scope.Servers() {
		names = append(names, codegen.ModulePath(s))
		if imports(code, s) || hasWord(code, s.Namespace, nil) {
			readers := withReaders(scope, s, words)
			m := codegen.RunModule(readers, namedTools(code, words, readers))
			if s.Listing.Unlisted {
				m = codegen.UnlistedModule(s, slices.Values(slices.Sorted(maps.Keys(words))))
			}
			modules = append(modules, sandbox.Module{Path: m.Path, Source: m.Source, Exports: m.Exports, Global: m.Global, Withheld: e.withheld(full, scope, s, words)})
		}
	}
	return modules, names, nil
}

// withReaders returns s with functions for reading its resources and prompts, if a script names
// them.
func withReaders(scope *discovery.Catalog, s *discovery.Server, words map[string]bool) *discovery.Server {
	if !words[readerNames[upstream.ReadResource]] && !words[readerNames[upstream.GetPrompt]] {
		return s
	}
	with := *s
	with.Tools = slices.Clip(with.Tools)
	for _, t := range catalog.ToolsOfOffers(scope, s) {
		reader := *t
		reader.Func = readerNames[t.Name]
		if words[reader.Func] && !slices.ContainsFunc(s.Tools, func(t *discovery.Tool) bool { return t.Func == reader.Func }) {
			with.Tools = append(with.Tools, &reader)
		}
	}
	return &with
}

// readerNames are the functions of tools that read resources and prompts.
var readerNames = map[string]string{upstream.ReadResource: "readResource", upstream.GetPrompt: "getPrompt"}

// withheld returns the reason the module of s lacks functions in words that are not in scope,
// worded like the error of a call by id.
func (e *Executor) withheld(full, scope *discovery.Catalog, s *discovery.Server, words map[string]bool) map[string]string {
	if full == scope {
		return nil
	}
	all, ok := full.Server(s.Listing.Server)
	if !ok {
		return nil
	}
	why := make(map[string]string)
	for _, t := range all.Tools {
		if _, usable := scope.Tool(t.ID); !usable && words[t.Func] {
			why[t.Func] = e.catalog.Denied(t).Message
		}
	}
	return why
}

// pythonModules is like modules, for Python.
func (e *Executor) pythonModules(ctx context.Context, code string) (modules []sandbox.Module, names []string, err error) {
	_, scope := e.catalog.Both()
	byServer := make(map[string]string)
	for i, name := range codegen.PythonNames(scope) {
		byServer[scope.Servers()[i].Listing.Server] = name
	}
	uses := func(s *discovery.Server) (imported, used bool) {
		used = usesPython(code, byServer[s.Listing.Server])
		return used && hasWord(code, "servers", nil), used
	}
	if err := e.awaitUsed(ctx, uses); err != nil {
		return nil, nil, err
	}
	full, scope := e.catalog.Both()
	narrow := full != scope || e.catalog.ScopeNote() != ""
	called := codegen.PythonNames(scope)
	types := e.catalog.Types()
	for i, s := range scope.Servers() {
		path := "servers/" + called[i]
		names = append(names, path)
		if usesPython(code, called[i]) {
			source := types.PythonModule(s)
			switch {
			case s.Listing.Unlisted:
				source = codegen.UnlistedPython(s)
			case narrow: // a call reports which tools are left out
				source += codegen.PythonFallback(s)
			}
			modules = append(modules, sandbox.Module{Path: path, Source: source, Global: called[i]})
		}
	}
	return modules, names, nil
}

// usesPython reports whether the module of a server with that name occurs in Python code.
func usesPython(code, name string) bool {
	return hasWord(code, name, nil) || hasWord(code, "servers."+name, nil)
}

// awaitUsed waits for the servers that a script uses and that were never listed. uses reports
// whether the script imports a server, and whether it uses it at all.
func (e *Executor) awaitUsed(ctx context.Context, uses func(*discovery.Server) (imported, used bool)) error {
	_, scope := e.catalog.Both()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var failed error
	for _, s := range scope.Servers() {
		name := s.Listing.Server
		if !s.Listing.Unlisted {
			continue
		}
		imported, used := uses(s)
		if !used {
			continue
		}
		wg.Go(func() {
			if err := e.catalog.Pool.Wait(ctx, name); err != nil && imported {
				mu.Lock()
				defer mu.Unlock()
				failed = fmt.Errorf("cannot import ./servers/%s: %w", s.Folder, e.catalog.Unavailable(name, err))
			}
		})
	}
	wg.Wait()
	return failed
}

// connectNamed connects, in the background, the servers that a script names and that StartLazily
// has not started.
func (e *Executor) connectNamed(ctx context.Context, code string) {
	if !e.catalog.Lazy() {
		return
	}
	_, scope := e.catalog.Both()
	for _, s := range scope.Servers() {
		name := s.Listing.Server
		if s.Listing.Unlisted && (hasWord(code, name, nil) || hasWord(code, s.Namespace, nil) || strings.Contains(code, s.Prefix+"__")) {
			e.catalog.Connect(ctx, name)
		}
	}
}

// remaining returns the rest of a time limit after a wait that began at start, and at least enough
// to run a small script.
func remaining(limit time.Duration, start time.Time) time.Duration {
	return max(limit-time.Since(start), min(limit, time.Second))
}

// imports reports whether the code seems to import the server's module or a file in it.
func imports(code string, s *discovery.Server) bool {
	return hasWord(code, "servers/"+s.Folder, func(rest string) bool {
		return rest != "" && strings.ContainsRune("'\"`/.", rune(rest[0]))
	})
}

// usedAsNamespace reports whether the text after a name accesses a member of it.
func usedAsNamespace(rest string) bool {
	rest = strings.TrimLeftFunc(rest, unicode.IsSpace)
	return strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "[") || strings.HasPrefix(rest, "?.")
}

// hasWord reports whether word occurs in code as a whole identifier that is not a member, followed
// by text that then accepts; a nil then accepts anything.
func hasWord(code, word string, then func(rest string) bool) bool {
	for rest := range occurrences(code, word) {
		if then == nil || then(rest) {
			return true
		}
	}
	return false
}

// occurrences yields the text after each occurrence of word in code, as in hasWord.
func occurrences(code, word string) iter.Seq[string] {
	return func(yield func(rest string) bool) {
		for at := 0; ; {
			i := strings.Index(code[at:], word)
			if i < 0 || word == "" {
				return
			}
			i += at
			before, _ := utf8.DecodeLastRuneInString(code[:i])
			rest := code[i+len(word):]
			after, _ := utf8.DecodeRuneInString(rest)
			spread := strings.HasSuffix(code[:i], "...")
			if !partOfName(before) && (before != '.' || spread) && !partOfName(after) && !yield(rest) {
				return
			}
			at = i + len(word)
		}
	}
}

// partOfName reports whether r continues an identifier. The end of the text, which decodes as an
// error, does not.
func partOfName(r rune) bool {
	return r == '_' || r == '$' || r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}
