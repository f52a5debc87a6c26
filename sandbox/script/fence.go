package script

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// fenceLine matches a line that opens or closes a fenced Markdown block.
var fenceLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("^[ \\t]*(`{3,}|~{3,})[ \\t]*(\\{?[.\\w+#-]*\\}?(?:[ \\t][^`;]*)?)$")
})

// A fencesError means that a program consists of several fenced blocks.
type fencesError struct{ blocks int }

func (e *fencesError) Error() string {
	return fmt.Sprintf("the script is %d fenced blocks of Markdown: send the code of one script, without fences\n0 tools called", e.blocks)
}

// programOf replaces the text around the program, such as a Markdown fence or a first line
// #!/usr/bin/env node, with blanks.
func programOf(code string) (string, error) {
	code, err := withoutFence(code)
	if at := len(code) - len(strings.TrimLeft(code, " \t\r\n")); err == nil && strings.HasPrefix(code[at:], "#!") {
		end := at
		for end < len(code) && lineBreak(code, end) == 0 {
			end++
		}
		b := []byte(code)
		blank(b, at, end)
		code = string(b)
	}
	return code, err
}

// withoutFence replaces a byte order mark, and the text around the program if it is one fenced
// Markdown block, with blanks. Several blocks are an error.
func withoutFence(code string) (string, error) {
	if strings.HasPrefix(code, "\ufeff") {
		code = "   " + code[len("\ufeff"):]
	}
	if !strings.Contains(code, "```") && !strings.Contains(code, "~~~") {
		return code, nil
	}
	var inside [][2]int // offsets of the blocks
	fence, open := "", false
	for start, end := 0, 0; start < len(code); start = end + max(1, lineEnd(code+" ", end)) {
		for end = start; end < len(code) && lineBreak(code, end) == 0; {
			end++
		}
		m := fenceLine().FindStringSubmatch(code[start:end])
		switch {
		case m == nil:
		case !open && (len(inside) > 0 || isProse(code[:start])):
			fence, open = m[1], true
			inside = append(inside, [2]int{end, len(code)})
		case open && m[1][0] == fence[0] && len(m[1]) >= len(fence) && m[2] == "":
			inside[len(inside)-1][1], open = start, false
		}
	}
	switch len(inside) {
	case 0:
		return code, nil
	case 1:
		b := []byte(code)
		blank(b, 0, inside[0][0])
		blank(b, inside[0][1], len(b))
		return string(b), nil
	}
	return code, &fencesError{len(inside)}
}

// isProse reports whether text before a fence contains no character that only programs
// use.
func isProse(text string) bool {
	text = strings.TrimSpace(text)
	return !strings.ContainsAny(text, ";{}=`") && !strings.Contains(text, "/*")
}
