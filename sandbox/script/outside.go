package script

import (
	"regexp"
	"strings"
	"sync"
)

// outside returns the problems of a program whose types name unknown modules. They do not matter
// at run time, but a type checker would look for such a module, and might find a file.
func (src *Source) outside() []string {
	v := newResolver(&src.Program)
	var problems []string
	lex := src.Tokens
	for i, t := range lex.List {
		if t.Kind != String || t.End-t.Start < 2 {
			continue
		}
		before, word := lex.Text(i-1), lex.Text(i-2)
		called := before == "(" && (word == "import" || word == "require") && lex.Text(i-3) != "."
		if !called && before != "from" && before != "import" {
			continue
		}
		name := lex.Src[t.Start+1 : t.End-1]
		if _, known := v.find(name); !known || strings.Contains(name, `\`) {
			problems = append(problems, src.Located(t.Start, v.unknown(name)))
		}
	}
	if len(lex.directives) > 0 {
		problems = append(problems, src.Located(lex.directives[0], "a triple-slash directive names no file here: leave it out"))
	}
	return problems
}

// directive matches a comment that TypeScript compilers treat as a directive.
var directive = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^///\s*<\s*(?:reference|amd-)`)
})
