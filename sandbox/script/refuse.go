package script

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// maxProblems bounds the problems that a Refusal shows.
const maxProblems = 5

// A Refusal is the error of a program that cannot run.
type Refusal struct {
	Problems []string
	// stubs are modules that replace the failed imports.
	stubs []sandbox.Module
}

// Rest returns the program with its failed imports replaced; ok is false if it has other mistakes.
// The program serves only to find further mistakes and must not run.
func (e *Refusal) Rest(p Program) (Program, bool) {
	if len(e.stubs) == 0 {
		return p, false
	}
	p.Modules = slices.DeleteFunc(slices.Clone(p.Modules), func(m sandbox.Module) bool {
		return slices.ContainsFunc(e.stubs, func(s sandbox.Module) bool { return s.Path == m.Path })
	})
	p.Modules, p.CheckSource = append(p.Modules, e.stubs...), false
	return p, true
}

// WithRest adds the other mistakes of a program to the error about its imports. find returns the
// mistakes of a program.
func WithRest(p Program, err error, find func(Program) error) error {
	refusal, ok := errors.AsType[*Refusal](err)
	if !ok || p.Check == nil {
		return err
	}
	all := &Refusal{Problems: refusal.Problems}
	for range 3 { // of modules, of their exports, and of the program
		rest, ok := refusal.Rest(p)
		if !ok {
			break
		}
		if refusal, ok = errors.AsType[*Refusal](find(rest)); !ok {
			break
		}
		p, all.Problems = rest, append(all.Problems, refusal.Problems...)
	}
	return all
}

func (e *Refusal) Error() string {
	shown := e.Problems
	more := ""
	if len(shown) > maxProblems {
		more = fmt.Sprintf("\nand %d more", len(shown)-maxProblems)
		shown = shown[:maxProblems]
	}
	return strings.Join(shown, "\n") + more + "\n0 tools called"
}

// refuse returns esbuild's errors as a Refusal, with positions in the agent's text.
func (src *Source) refuse(loader api.Loader, text composed, errs []api.Message) error {
	if own := src.syntaxErrors(loader, errs); len(own) > 0 {
		// Without the function around it, an error names nothing that the agent did not write.
		text = composed{src.Tokens.Src, []segment{{0, 0, len(src.Code)}}}
		errs = own
	}
	e := &Refusal{stubs: src.stubs(errs)}
	for _, m := range errs {
		problem := src.problem(text, m)
		if !slices.Contains(e.Problems, problem) {
			e.Problems = append(e.Problems, problem)
		}
	}
	return e
}

// stubs returns modules that make the failed imports of a program succeed: modules that
// do not exist, or that lack an imported name. It returns nil if one of the errors is
// about anything else.
func (src *Source) stubs(errs []api.Message) (list []sandbox.Module) {
	for _, m := range errs {
		if x := missingExport().FindStringSubmatch(m.Text); x != nil {
			name, path := x[2], x[1]
			if strings.HasPrefix(m.Text, "Import") {
				name, path = x[1], x[2]
			}
			path, _, _ = strings.Cut(path, ":")
			i := slices.IndexFunc(list, func(s sandbox.Module) bool { return s.Path == path })
			if i < 0 {
				at := slices.IndexFunc(src.Modules, func(s sandbox.Module) bool { return s.Path == path })
				if at < 0 {
					return nil
				}
				i, list = len(list), append(list, src.Modules[at])
			}
			if !identifier().MatchString(name) {
				return nil
			}
			if !slices.Contains(list[i].Exports, name) {
				list[i].Source += "\nexport const " + name + " = undefined;\n"
				list[i].Exports = append(slices.Clip(list[i].Exports), name)
			}
			continue
		}
		at := m.Location
		if m.PluginName == "" || at == nil || at.Column+at.Length > len(at.LineText) || at.Length < 2 {
			return nil
		}
		path := normalize(strings.Trim(at.LineText[at.Column:at.Column+at.Length], `"'`+"`"))
		if !slices.ContainsFunc(list, func(s sandbox.Module) bool { return s.Path == path }) {
			list = append(list, sandbox.Module{Path: path, Source: "module.exports = {};\n"})
		}
	}
	return list
}

// identifier matches the names that a declaration can have, and reserved words.
var identifier = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_$][\w$]*$`) })

// syntaxErrors returns the errors in the agent's text alone, or none if errs are about imports.
func (src *Source) syntaxErrors(loader api.Loader, errs []api.Message) []api.Message {
	if src.before != funcHead { // it cannot be parsed alone
		return nil
	}
	for _, m := range errs {
		if m.PluginName != "" || missingExport().MatchString(m.Text) {
			return nil
		}
	}
	return slices.DeleteFunc(src.transform(src.Tokens.Src, loader).Errors, func(m api.Message) bool {
		return strings.HasPrefix(m.Text, "Top-level return")
	})
}

// missingExport matches both errors about a name that a module does not have.
var missingExport = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:No matching export in|Import) "(?:[a-z]+:)?([^"]*)" (?:for import|will always be undefined because (?:there is no matching export in|the file)) "(?:vfs:)?([^"]*)"`)
})

func (src *Source) problem(text composed, m api.Message) string {
	message := m.Text
	if x := missingExport().FindStringSubmatch(message); x != nil {
		name, module := x[2], x[1]
		if strings.HasPrefix(message, "Import") {
			name, module = x[1], x[2]
		}
		message = src.noExport(name, module)
	} else if strings.HasPrefix(message, "Could not resolve import(") {
		message = computedImport
	} else {
		message = strings.TrimSuffix(strings.ReplaceAll(message, namespace+":", ""), ".")
	}
	for _, n := range m.Notes {
		if n.Text != "" && n.Location == nil && message == m.Text {
			message += "; " + n.Text
		}
	}
	if m.Location == nil {
		return src.File + ": " + message
	}
	if m.Location.File != src.File {
		return strings.TrimPrefix(m.Location.File, namespace+":") + ": " + message
	}
	at := text.origin((&Lines{text: text.text}).byteOffset(m.Location.Line, m.Location.Column))
	for word, why := range unsupportedWords {
		if strings.HasSuffix(strings.TrimRight(src.Code[:min(at, len(src.Code))], " "), word) {
			message = why
		}
	}
	return src.Located(at, message)
}

// unsupportedWords maps words that a compiler rejects to advice.
var unsupportedWords = map[string]string{
	"namespace": "namespaces are not supported here: use an object, or functions and constants of their own",
	"function":  "a function needs a name here, as in function main() {}; the last expression of a program may do without: (() => {})",
}

// computedImport is the error of import() with a computed name.
const computedImport = "import() takes the name of a module as it is, such as import('./servers/github'); " +
	"call a tool whose name is computed with callMCPTool(id, input)"

func (src *Source) noExport(name, module string) string {
	module, _, _ = strings.Cut(module, ":")
	known := []string{"callMCPTool", "ToolError"}
	for _, m := range src.Modules {
		if m.Path == module {
			if why, ok := m.Withheld[name]; ok {
				return fmt.Sprintf("%s does not export %q here: %s", module, name, why)
			}
			known = m.Exports
		}
	}
	hint := didYouMean(name, known)
	if hint == "" && len(known) > 0 {
		list := strings.Join(known[:min(len(known), 10)], ", ")
		if len(known) > 10 {
			list += ", …"
		}
		hint = "; it has " + list
	}
	message := fmt.Sprintf("%s has no export %q%s", module, name, hint)
	if strings.HasPrefix(module, "servers/") {
		message = within(message, src.Scope)
	}
	return message
}

// Located returns a message with its position, the line, and a mark below it.
func (src *Source) Located(offset int, message string) string {
	text := src.Code
	offset = min(offset, len(text))
	if offset == len(text) { // at the end of the text: mark the last token
		offset = len(strings.TrimRight(src.Tokens.Src, " \t\r\n\u2028\u2029"))
	}
	line, start, end := src.Lines.line(offset)
	column, mark := src.Lines.column(start, offset), utf8.RuneCountInString(text[start:offset])
	shown := strings.TrimRight(text[start:end], " \t")
	if runes := []rune(shown); len(runes) > 100 { // a long line is cut around the mark
		from := max(0, min(mark-50, len(runes)-100))
		shown = string(runes[from:min(from+100, len(runes))])
		mark -= from
	}
	return fmt.Sprintf("%s:%d:%d: %s\n  %s\n  %s^", src.File, line, column, message,
		strings.ReplaceAll(shown, "\t", " "), strings.Repeat(" ", max(0, mark)))
}
