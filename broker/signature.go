package broker

import (
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery"
)

// signature is the tool on one line. To one who writes code it is TypeScript,
// to one who calls tools by id the id with its arguments:
//
//	github.listIssues({owner:string;repo:string}): Promise<{id:number}[]>
//	github__list_issues({owner:string;repo:string})
//
// Every hit of every answer pays for it, so what says nothing is left out: the
// parameter's name, blanks, and an output of which nothing is known.
func (w renderer) signature(s *discovery.Server, t *discovery.Tool) string {
	name, input, output := splitSignature(w.types.Signature(s, t))
	input = strings.TrimPrefix(strings.TrimPrefix(input, "input?: "), "input: ")
	input = closeUp(input)
	if w.callsOnly {
		return clipBytes(t.ID+"("+input+")", maxSignatureBytes)
	}
	call := name + "(" + input + ")"
	if output != "" && output != "Promise<any>" {
		call += ": " + closeUp(output)
	}
	return clipBytes(call, maxSignatureBytes)
}

// splitSignature takes "name(input): output" apart.
func splitSignature(sig string) (name, input, output string) {
	open := strings.IndexByte(sig, '(')
	if open < 0 {
		return sig, "", ""
	}
	depth, end := 0, len(sig)
	eachOutsideStrings(sig, func(i int) {
		switch sig[i] {
		case '(', '{', '[':
			depth++
		case ')', '}', ']':
			if depth--; depth == 0 && sig[i] == ')' && end == len(sig) {
				end = i
			}
		}
	})
	if end == len(sig) {
		return sig[:open], sig[open+1:], ""
	}
	return sig[:open], sig[open+1 : end], strings.TrimPrefix(sig[end+1:], ": ")
}

// closeUp removes the blanks beside punctuation, but in string literals.
func closeUp(typ string) string {
	var b strings.Builder
	kept := 0
	eachOutsideStrings(typ, func(i int) {
		if typ[i] != ' ' || i == 0 || i+1 == len(typ) {
			return
		}
		if strings.IndexByte("{:;,", typ[i-1]) >= 0 || typ[i+1] == '}' {
			b.WriteString(typ[kept:i])
			kept = i + 1
		}
	})
	b.WriteString(typ[kept:])
	return b.String()
}

// eachOutsideStrings calls f with the place of each byte of src that is not in
// a string literal.
func eachOutsideStrings(src string, f func(i int)) {
	var quote byte
	for i := 0; i < len(src); i++ {
		c := src[i]
		switch {
		case quote != 0 && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'' || c == '`':
			quote = c
		default:
			f(i)
		}
	}
}
