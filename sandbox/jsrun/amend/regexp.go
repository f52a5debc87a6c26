package amend

import (
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/dop251/goja/parser"
)

// CanBeEmpty reports whether a regular expression may match an empty string. It returns true for
// an expression that only the engine can parse.
func CanBeEmpty(pattern, flags string) bool {
	plain, err := parser.TransformRegExp(pattern, strings.Contains(flags, "s"), strings.Contains(flags, "u"))
	if err != nil {
		return true
	}
	tree, err := syntax.Parse(plain, syntax.Perl)
	return err != nil || emptyMatches(tree)
}

func emptyMatches(tree *syntax.Regexp) bool {
	switch tree.Op {
	case syntax.OpLiteral, syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL, syntax.OpNoMatch:
		return false
	case syntax.OpStar, syntax.OpQuest:
		return true
	case syntax.OpRepeat:
		return tree.Min == 0 || emptyMatches(tree.Sub[0])
	case syntax.OpAlternate:
		return slices.ContainsFunc(tree.Sub, emptyMatches)
	}
	// A group, a sequence, or a repetition of at least once; ^ and $ have no subexpressions.
	return !slices.ContainsFunc(tree.Sub, func(sub *syntax.Regexp) bool { return !emptyMatches(sub) })
}
