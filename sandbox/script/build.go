package script

import (
	"fmt"
	goruntime "runtime"
	"strings"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// features corrects the feature set of ES2022: goja lacks some, and some that require a module
// elsewhere work inside a function here.
var features = map[string]bool{
	"top-level-await": true,
	"for-await":       false,
	"async-generator": false,
	"import-meta":     false,
	"hashbang":        false,
}

// A built is the output of esbuild for a program.
type built struct {
	code []byte
	smap []byte
}

// A composed text is the input for esbuild: the program's function, followed by the imports.
// segments maps its parts to the agent's text.
type composed struct {
	text     string
	segments []segment
}

type segment struct{ at, from, length int }

// compose composes the program. Imports follow it, each on a line, so that the lines of the
// program keep their numbers.
func (src *Source) compose() composed {
	var b strings.Builder
	var places []segment
	b.WriteString(src.before)
	places = append(places, segment{b.Len(), 0, len(src.body)})
	b.WriteString(src.body)
	b.WriteString(src.after)
	for _, m := range src.movedImports {
		b.WriteByte('\n')
		for _, t := range m.pieces {
			places = append(places, segment{b.Len(), t.Start, t.End - t.Start})
			b.WriteString(src.Tokens.Src[t.Start:t.End])
			b.WriteByte(' ')
		}
		b.WriteByte(';')
		if name, ok := m.checked(src.Tokens.Src); ok {
			b.WriteString("import ")
			places = append(places, segment{b.Len(), name.Start, name.End - name.Start})
			b.WriteString(src.Tokens.Src[name.Start:name.End] + ";")
		}
	}
	for _, m := range src.Modules {
		if m.Global != "" && src.Names[m.Global] {
			fmt.Fprintf(&b, "\nimport * as %s from %q;", m.Global, "./"+m.Path)
		}
	}
	if src.bundle {
		// esbuild treats a file with eval and without an export as CommonJS.
		b.WriteString("\nexport {};")
	}
	b.WriteByte('\n')
	return composed{b.String(), places}
}

// checked returns the module name of an import that esbuild would drop unread if the program does
// not use its names, since TypeScript treats such imports as types. A module that does not exist
// is a mistake anyway.
func (m movedImport) checked(src string) (Token, bool) {
	text := func(i int) string { return src[m.pieces[i].Start:m.pieces[i].End] }
	last := len(m.pieces) - 1
	if last < 2 || text(1) == "type" && text(2) != "from" && text(2) != "," {
		return Token{}, false
	}
	return m.pieces[last], true
}

// origin returns the offset in the agent's text for an offset in the composed text. Generated text
// belongs to the text before it.
func (c composed) origin(offset int) int {
	at := 0
	for _, p := range c.segments {
		if offset < p.at {
			break
		}
		at = p.from + min(offset-p.at, p.length)
	}
	return at
}

// build runs esbuild on the program and the modules that it reaches.
func (src *Source) build(loader api.Loader) (built, error) {
	text := src.compose()
	if !src.bundle {
		res := src.transform(text.text, loader)
		if len(res.Errors) > 0 {
			return built{}, src.refuse(loader, text, res.Errors)
		}
		return built{res.Code, res.Map}, nil
	}
	res := api.Build(api.BuildOptions{
		LogLevel:         api.LogLevelSilent,
		LogOverride:      map[string]api.LogLevel{"import-is-undefined": api.LogLevelError},
		Bundle:           true,
		Format:           api.FormatESModule,
		Sourcemap:        api.SourceMapExternal,
		SourcesContent:   api.SourcesContentExclude,
		Target:           api.ES2022,
		Supported:        features,
		Platform:         api.PlatformNeutral,
		MinifyWhitespace: true,
		LegalComments:    api.LegalCommentsNone,
		TsconfigRaw:      "{}",
		AbsWorkingDir:    rootDir(),
		Outfile:          "out.js",
		Stdin:            &api.StdinOptions{Contents: text.text, Sourcefile: src.File, Loader: loader},
		Plugins:          []api.Plugin{newResolver(&src.Program).plugin()},
	})
	if len(res.Errors) > 0 {
		return built{}, src.refuse(loader, text, res.Errors)
	}
	var out built
	for _, f := range res.OutputFiles {
		if strings.HasSuffix(f.Path, ".map") {
			out.smap = f.Contents
		} else {
			out.code = f.Contents
		}
	}
	return out, nil
}

// transform runs esbuild on a text without imports.
func (src *Source) transform(text string, loader api.Loader) api.TransformResult {
	return api.Transform(text, api.TransformOptions{
		LogLevel:         api.LogLevelSilent,
		Sourcemap:        api.SourceMapExternal,
		SourcesContent:   api.SourcesContentExclude,
		Target:           api.ES2022,
		Supported:        features,
		Platform:         api.PlatformNeutral,
		MinifyWhitespace: true, // indentation of nested blocks is quadratic
		LegalComments:    api.LegalCommentsNone,
		TsconfigRaw:      "{}",
		Sourcefile:       src.File,
		Loader:           loader,
	})
}

// buildAny builds the program in its language, or in TypeScript if it is TypeScript declared as
// another language.
func (src *Source) buildAny() (built, error) {
	loader := api.LoaderTS
	if src.Language == sandbox.JavaScript {
		loader = api.LoaderJS
	}
	out, err := src.build(loader)
	if err != nil && loader == api.LoaderJS {
		if typed, failed := src.build(api.LoaderTS); failed == nil {
			return typed, nil
		}
	}
	return out, err
}

// rootDir is an absolute directory, which esbuild requires; nothing is read there.
func rootDir() string {
	if goruntime.GOOS == "windows" {
		return `C:\`
	}
	return "/"
}
