package jsrun

import (
	"regexp"
	"strings"
	"sync"
)

// outside returns the problems of a program whose types name modules that do
// not exist. Nothing of that is left when the program runs, but a type checker
// would look for such a module, and might find a file.
func (src *source) outside(p Program) []string {
	v := newResolver(p)
	var problems []string
	lex := src.lexed
	for i, t := range lex.tokens {
		if t.kind != str || t.end-t.start < 2 {
			continue
		}
		before, word := lex.text(i-1), lex.text(i-2)
		called := before == "(" && (word == "import" || word == "require") && lex.text(i-3) != "."
		if !called && before != "from" && before != "import" {
			continue
		}
		name := lex.src[t.start+1 : t.end-1]
		if _, known := v.find(name); !known || strings.Contains(name, `\`) {
			problems = append(problems, src.located(t.start, v.unknown(name)))
		}
	}
	if len(lex.orders) > 0 {
		problems = append(problems, src.located(lex.orders[0], "a triple-slash directive names no file here: leave it out"))
	}
	return problems
}

// directive matches a comment that a TypeScript compiler takes for an order.
var directive = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^///\s*<\s*(?:reference|amd-)`)
})
