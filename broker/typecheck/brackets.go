package typecheck

import "strings"

// A bracket is a pair of them in a script: where it opens and where it closes.
type bracket struct {
	char       byte // one of ( [ {
	start, end int
	body       bool // a "{" that follows "=>" or ")": statements, no object
}

// bracketsOf finds the brackets of a script outside of strings, templates and comments,
// in the order of their beginnings. For an invalid program, the result is meaningless.
func bracketsOf(text string) []bracket {
	var all []bracket
	var open []int
	last := byte(0) // last character other than a space
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		case '"', '\'', '`':
			i = quoteEnd(text, i)
		case '/':
			if end := slashEnd(text, i, last); end > i {
				comment := text[i+1] == '/' || text[i+1] == '*'
				if i = end; comment {
					continue
				}
			}
		case '(', '[', '{':
			body := c == '{' && (last == ')' || last == '>' && strings.HasSuffix(strings.TrimRight(text[:i], " \t\r\n"), "=>"))
			open = append(open, len(all))
			all = append(all, bracket{char: c, start: i, end: len(text), body: body})
		case ')', ']', '}':
			if n := len(open); n > 0 {
				all[open[n-1]].end = i
				open = open[:n-1]
			}
		}
		last = c
	}
	return all
}

// quoteEnd returns the end of the string or template that begins at i. A template with
// its substitutions is one string.
func quoteEnd(text string, i int) int {
	quote, depth := text[i], 0
	for i++; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case quote == '`' && c == '$' && i+1 < len(text) && text[i+1] == '{':
			depth++
			i++
		case depth > 0 && c == '{':
			depth++
		case depth > 0 && c == '}':
			depth--
		case depth > 0 && (c == '`' || c == '"' || c == '\''):
			i = quoteEnd(text, i)
		case c == quote:
			return i
		case c == '\n' && quote != '`':
			return i
		}
	}
	return len(text)
}

// slashEnd is where the comment or regular expression that begins at i ends; i
// if it is a division.
func slashEnd(text string, i int, last byte) int {
	switch {
	case strings.HasPrefix(text[i:], "//"):
		if n := strings.IndexByte(text[i:], '\n'); n >= 0 {
			return i + n
		}
		return len(text)
	case strings.HasPrefix(text[i:], "/*"):
		if n := strings.Index(text[i+2:], "*/"); n >= 0 {
			return i + n + 3
		}
		return len(text)
	case last == ')' || last == ']' || last == '}' || last == '_' || last == '$' || last == '"' || last == '\'' || last == '`',
		'0' <= last && last <= '9', 'a' <= last|0x20 && last|0x20 <= 'z', last >= 0x80:
		return i
	}
	class := false
	for at := i + 1; at < len(text) && text[at] != '\n'; at++ {
		switch text[at] {
		case '\\':
			at++
		case '[':
			class = true
		case ']':
			class = false
		case '/':
			if !class {
				return at
			}
		}
	}
	return i
}
