package typecheck

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
)

// tsconfig is the configuration of a tree of these files.
func tsconfig(files []string) []byte {
	data, err := json.Marshal(map[string]any{"compilerOptions": options, "files": files})
	if err != nil {
		panic(err) // strings and booleans can be written
	}
	return data
}

var (
	header = lazyregexp.New(`^([^\s(][^(]*)\((\d+),(\d+)\): error TS(\d+): (.*)$`)
	// promised matches errors about a value that was not awaited.
	promised = lazyregexp.New(`'Promise<`)
)

func mentionsFile(out string) bool {
	return slices.ContainsFunc(strings.Split(out, "\n"), func(line string) bool { return header.MatchString(strings.TrimRight(line, "\r")) })
}

// parse reads the output of the compiler and returns the errors in the script of p. It
// removes dir, the scratch tree, from messages.
func parse(out string, p Program, dir string) []Diagnostic {
	text := p.Source
	var judges *judge
	var found []Diagnostic
	current := -1
	var lines []string
	finish := func() {
		if current >= 0 {
			d := &found[current]
			d.Message = strings.ReplaceAll(strings.Join(lines, "\n"), dir+"/", "./")
			d.Message = strings.ReplaceAll(d.Message, dir, ".")
			if judges == nil {
				judges = newJudge(p)
			}
			d.Blocks = judges.blocks(d.Code, d.Offset, lines)
			if promised.MatchString(lines[0]) {
				d.Message += " (did you forget await?)"
			}
		}
		current, lines = -1, nil
	}
	for line := range strings.SplitSeq(strings.ReplaceAll(out, "\r\n", "\n"), "\n") {
		m := header.FindStringSubmatch(line)
		switch {
		case m != nil:
			finish()
			if m[1] != source {
				continue
			}
			row, _ := strconv.Atoi(m[2])
			column, _ := strconv.Atoi(m[3])
			code, _ := strconv.Atoi(m[4])
			found = append(found, Diagnostic{Offset: offset(text, row, column), Code: code})
			current, lines = len(found)-1, []string{m[5]}
		case strings.HasPrefix(line, " ") && current >= 0:
			lines = append(lines, strings.TrimSpace(line))
		default:
			finish()
		}
	}
	finish()
	return found
}

// lineEnd is what ends a line of JavaScript.
var lineEnd = lazyregexp.New("\r\n|[\n\r\u2028\u2029]")

// offset is the place of a line and a column, both from 1, the column in UTF-16.
func offset(text string, row, column int) int {
	at := 0
	for ; row > 1; row-- {
		end := lineEnd.FindStringIndex(text[at:])
		if end == nil {
			return len(text)
		}
		at += end[1]
	}
	left := column - 1
	for i, r := range text[at:] {
		if left <= 0 || r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029' {
			return at + i
		}
		left--
		if r > 0xFFFF {
			left--
		}
	}
	return len(text)
}
