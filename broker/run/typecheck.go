package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/broker/typecheck"
	"github.com/mcpbroker/mcpbroker/codegen"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
	"github.com/mcpbroker/mcpbroker/sandbox"
)

// typechecks reports whether a compiler checks a script. A script without tools has only types
// that it declares itself, which only strict mode checks.
func (x checker) typechecks(ctx context.Context, lang sandbox.Language, modules []sandbox.Module) bool {
	if x.o.Typecheck == nil || lang != sandbox.TypeScript {
		return false
	}
	if x.o.TypecheckStrict {
		return true
	}
	if len(modules) == 0 {
		return false
	}
	_, err := x.o.Typecheck.Compiler(ctx)
	return err == nil || x.o.Typecheck.Named() // an explicitly configured compiler reports its failure
}

// maxTypeErrors bounds the reported errors of a compiler.
const maxTypeErrors = 10

// checkTypes adds the errors that a compiler finds in a script to v. A missing or failing compiler
// stops nothing, unless strict mode requires it.
func (x checker) checkTypes(ctx context.Context, scope *discovery.Catalog, p sandbox.Parsed, v *sandbox.Verdict) {
	found, err := x.o.Typecheck.Check(ctx, typecheck.Program{Owner: x.Request.Sharer(), Source: p.Source, Files: x.typeTree(scope), Namespaces: namespaces(scope)})
	if err != nil {
		hint := ""
		if errors.Is(err, typecheck.ErrNoCompiler) {
			hint = "install one: " + typecheck.Install
		}
		if x.o.TypecheckStrict {
			v.Problems = append(v.Problems, sandbox.Problem{Message: fmt.Sprintf(`types could not be checked, and "typecheck" is "strict": %v`, err), Hint: hint})
			return
		}
		v.Notes = append(v.Notes, "types were not checked: "+err.Error())
		return
	}
	for _, d := range found {
		if !d.Blocks || !certain(d, p) || len(v.Problems) == maxTypeErrors {
			continue
		}
		message, more, _ := strings.Cut(d.Message, "\n")
		v.Problems = append(v.Problems, sandbox.Problem{InSource: true, Offset: d.Offset, Message: fmt.Sprintf("%s (TS%d)", message, d.Code), Hint: more})
	}
}

// namespaces returns the globals through which scripts reach tools.
func namespaces(scope *discovery.Catalog) []string {
	var names []string
	for _, s := range scope.Servers() {
		names = append(names, s.Namespace)
	}
	return names
}

// runtimeNames matches names that the runtime provides besides tools. Their declarations are
// written by hand and may be incomplete, so errors about them do not refuse a script.
var runtimeNames = lazyregexp.New(`\b(?:console|globalThis|crypto|performance|Intl|Buffer|process|tools|store|results|skills|[A-Z]\w*)\s*\??\.\s*$`)

// notFound matches errors about names that nothing declares.
var notFound = lazyregexp.New(`^Cannot find name '([^']*)'`)

// nullForNone matches errors about a null where a value or undefined is accepted: the bridge
// leaves it out.
var nullForNone = lazyregexp.New(`(?:^|\n)\s*Type 'null' is not assignable to type '[^\n]* \| undefined'\.\s*$`)

// largeInteger matches type errors about a bigint in place of a number: integers beyond
// 2^53 are bigints in results and arguments, but all integers have the type number.
var largeInteger = lazyregexp.New(`(?s)'(?:bigint|-?\d+n)'.*'[^']*\bnumber\b[^']*'|'[^']*\bnumber\b[^']*'.*'(?:bigint|-?\d+n)'`)

// besideContent matches type errors about the property that contains content besides structured
// content.
var besideContent = lazyregexp.New(`^Property 'content_?' does not exist on type`)

// undeclaredReader matches type errors about the functions that read resources and
// prompts, which have no wrapper.
var undeclaredReader = lazyregexp.New(`(?:Property|exported member) '(?:readResource|getPrompt)'`)

// certain reports whether an error also holds in this runtime. The compiler knows the
// runtime's own names only from declarations.
func certain(d typecheck.Diagnostic, p sandbox.Parsed) bool {
	if m := notFound.FindStringSubmatch(d.Message); m != nil {
		return slices.ContainsFunc(p.Names, func(n sandbox.FreeName) bool { return n.Name == m[1] })
	}
	if besideContent.MatchString(d.Message) || undeclaredReader.MatchString(d.Message) {
		return false // no schema declares it
	}
	if d.Code == 2339 || d.Code == 2551 {
		return !runtimeNames.MatchString(p.Source[:min(d.Offset, len(p.Source))])
	}
	return !nullForNone.MatchString(d.Message) && !largeInteger.MatchString(d.Message)
}

// typeTree returns the files with the types of a script: the wrappers of the tools that
// it may use, and their dependencies. Results have only declared types: learned types
// describe earlier results, and the script may ask for others.
func (x checker) typeTree(scope *discovery.Catalog) map[string][]byte {
	used := make(map[string]bool)
	for _, s := range scope.Servers() {
		if imports(x.Request.Code, s) || hasWord(x.Request.Code, s.Namespace, nil) {
			used[s.Listing.Server] = true
		}
	}
	mentioned := scope.Filter(func(t *discovery.Tool) bool { return used[t.Server] && strings.Contains(x.Request.Code, t.Func) })
	indexes := make(map[string]bool)
	for _, s := range mentioned.Servers() {
		indexes[codegen.IndexPath(s)] = used[s.Listing.Server]
	}
	files := map[string][]byte{
		"script.d.ts": []byte("declare function $keep(script: () => Promise<unknown>): void;\n"),
	}
	for f := range new(codegen.Generator).Files(mentioned) {
		if keep, isIndex := indexes[f.Path]; isIndex && !keep || strings.HasSuffix(f.Path, ".json") {
			continue
		}
		files[f.Path] = f.Data
	}
	for _, m := range x.library.modules {
		if m.Unusable != "" {
			continue // the import reports the reason
		}
		// Check only the uses of their types, since the script's author did not write
		// them.
		files[m.Path+".ts"] = []byte("// @ts-nocheck\n" + m.Source)
	}
	return files
}
