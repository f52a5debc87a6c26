package typecheck

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
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
	header = regexp.MustCompile(`^([^\s(][^(]*)\((\d+),(\d+)\): error TS(\d+): (.*)$`)
	// promised matches errors about a value that was not awaited.
	promised = regexp.MustCompile(`'Promise<`)
	// nullish matches the last line of an error that is only about a value that
	// might be undefined or null.
	nullish = regexp.MustCompile(`^Type '(undefined|null)' is not assignable to type`)
	// loose matches errors about an object that grows while the script runs.
	loose = regexp.MustCompile(`does not exist on type '(\{\}|object|never|unknown)'`)
)

func mentionsFile(out string) bool {
	return slices.ContainsFunc(strings.Split(out, "\n"), func(line string) bool { return header.MatchString(strings.TrimRight(line, "\r")) })
}

// parse reads what the compiler prints, and keeps what is about the script. dir
// is the scratch tree, whose name nobody needs to know.
func parse(out, text, dir string) []Diagnostic {
	var found []Diagnostic
	current := -1
	var lines []string
	finish := func() {
		if current >= 0 {
			d := &found[current]
			d.Message = strings.ReplaceAll(strings.Join(lines, "\n"), dir+"/", "./")
			d.Message = strings.ReplaceAll(d.Message, dir, ".")
			d.Blocks = blocks(d.Code, lines)
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

// offset is the place of a line and a column, both from 1, the column in UTF-16.
func offset(text string, row, column int) int {
	at := 0
	for ; row > 1; row-- {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			return len(text)
		}
		at += i + 1
	}
	left := column - 1
	for i, r := range text[at:] {
		if left <= 0 || r == '\n' {
			return at + i
		}
		left--
		if r > 0xFFFF {
			left--
		}
	}
	return len(text)
}

// blocking are the errors after which a script does not do what it says: names,
// members, arguments and values that are not there or of the wrong kind.
var blocking = []int{2304, 2305, 2322, 2339, 2345, 2353, 2551, 2552, 2554, 2561, 2724, 2739, 2740, 2741, 2769, 2801, 2820}

// blocks says whether an error keeps a script from running. Modules that are
// not found do not: whoever bundles the script says that better.
func blocks(code int, lines []string) bool {
	switch {
	case code >= 1000 && code < 2000:
		return true // syntax
	case code == 2488:
		return promised.MatchString(lines[0])
	case !slices.Contains(blocking, code):
		return false
	case loose.MatchString(lines[0]):
		return false
	}
	return !nullish.MatchString(lines[len(lines)-1])
}
