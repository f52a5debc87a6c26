package docs

import (
	"strings"
	"unicode/utf8"

	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
)

// Plain is Markdown as text for a terminal: lines of at most width characters, code as
// it is and indented. It knows what these pages use: headings, paragraphs, lists,
// tables and blocks.
func Plain(markdown string, width int) string {
	p := printer{width: width}
	lines := strings.Split(strings.TrimRight(markdown, "\n"), "\n")
	for len(lines) > 0 {
		lines = lines[p.block(lines):]
	}
	return strings.TrimLeft(p.out.String(), "\n")
}

type printer struct {
	out   strings.Builder
	width int
}

var (
	bullet = lazyregexp.New(`^( *)([-*]|\d+\.) +`)
	fence  = lazyregexp.New("^ *```")
)

// block prints what lines begin with, and returns how many of them that are.
func (p *printer) block(lines []string) int {
	line := lines[0]
	switch {
	case strings.TrimSpace(line) == "":
		p.out.WriteByte('\n')
		return 1
	case fence.MatchString(line):
		return p.code(lines)
	case heading.MatchString(line):
		m := heading.FindStringSubmatch(line)
		title := inline(m[2])
		p.out.WriteString(title + "\n")
		if under := []string{"=", "-"}; len(m[1]) <= len(under) {
			p.out.WriteString(strings.Repeat(under[len(m[1])-1], utf8.RuneCountInString(title)) + "\n")
		}
		return 1
	case strings.HasPrefix(line, "|"):
		n := run(lines, func(l string) bool { return strings.HasPrefix(l, "|") })
		p.table(lines[:n])
		return n
	case bullet.MatchString(line):
		mark := bullet.FindString(line)
		n := 1 + run(lines[1:], func(l string) bool { return isText(l) && strings.HasPrefix(l, " ") })
		text := strings.TrimPrefix(strings.Join(lines[:n], "\n"), mark)
		p.fill(text, mark, strings.Repeat(" ", len(mark)))
		return n
	}
	n := max(1, run(lines, isText))
	p.fill(strings.Join(lines[:n], "\n"), "", "")
	return n
}

// run is how many lines at the beginning are as wanted.
func run(lines []string, wanted func(string) bool) int {
	for i, line := range lines {
		if !wanted(line) {
			return i
		}
	}
	return len(lines)
}

// isText reports whether a line goes on with a paragraph.
func isText(line string) bool {
	return strings.TrimSpace(line) != "" && !fence.MatchString(line) && !heading.MatchString(line) && !strings.HasPrefix(line, "|") && !bullet.MatchString(line)
}

// code prints a block as it is.
func (p *printer) code(lines []string) int {
	indent := len(lines[0]) - len(strings.TrimLeft(lines[0], " "))
	for i, line := range lines[1:] {
		if fence.MatchString(line) {
			return i + 2
		}
		if line = strings.TrimRight(line[min(indent, len(line)):], " "); line != "" {
			line = "    " + line
		}
		p.out.WriteString(line + "\n")
	}
	return len(lines)
}

// fill prints a paragraph that begins with first and goes on with rest.
func (p *printer) fill(text, first, rest string) {
	at := utf8.RuneCountInString(first)
	p.out.WriteString(first)
	for i, word := range strings.Fields(inline(text)) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case at+1+n > p.width:
			p.out.WriteString("\n" + rest)
			at = utf8.RuneCountInString(rest)
		default:
			p.out.WriteByte(' ')
			at++
		}
		p.out.WriteString(word)
		at += n
	}
	p.out.WriteByte('\n')
}

// leastColumn is how narrow the last column of a table may be.
const leastColumn = 30

// table prints columns where they fit, the last one folded; else each row as a
// paragraph for each cell.
func (p *printer) table(lines []string) {
	var rows [][]string
	var widths []int
	for i, line := range lines {
		if i == 1 {
			continue // the line below the head
		}
		row := cells(line)
		for j, cell := range row[:len(row)-1] {
			if j == len(widths) {
				widths = append(widths, 0)
			}
			widths[j] = max(widths[j], utf8.RuneCountInString(cell))
		}
		rows = append(rows, row)
	}
	before := 0
	for _, w := range widths {
		before += w + 2
	}
	for i, row := range rows {
		if i == 0 && strings.Join(row, "") == "" {
			continue
		}
		if p.width-before >= leastColumn {
			p.columns(row, widths, before)
		} else if i > 0 {
			p.record(rows[0], row)
		}
	}
}

func (p *printer) columns(row []string, widths []int, before int) {
	var b strings.Builder
	for j, cell := range row[:len(row)-1] {
		b.WriteString(cell + strings.Repeat(" ", widths[j]+2-utf8.RuneCountInString(cell)))
	}
	last := row[len(row)-1]
	if last == "" {
		p.out.WriteString(strings.TrimRight(b.String(), " ") + "\n")
		return
	}
	p.fill(last, b.String(), strings.Repeat(" ", before))
}

func (p *printer) record(head, row []string) {
	p.fill(row[0], "", "  ")
	for j, cell := range row[1:] {
		if cell == "" {
			continue
		}
		if j+1 < len(head) && head[j+1] != "" {
			cell = head[j+1] + ": " + cell
		}
		p.fill(cell, "    ", "    ")
	}
}

// cells are the cells of a row of a table, as plain text.
func cells(line string) []string {
	row := rawCells(line)
	for i, cell := range row {
		row[i] = inline(cell)
	}
	return row
}

func rawCells(line string) []string {
	line = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "|"), "|")
	line = strings.ReplaceAll(line, `\|`, "\x00")
	var row []string
	for cell := range strings.SplitSeq(line, "|") {
		row = append(row, strings.ReplaceAll(strings.TrimSpace(cell), "\x00", "|"))
	}
	return row
}

var link = lazyregexp.New(`\[([^\]]+)\]\(([^)]+)\)`)

// inline is text without marks for emphasis, and with links as words. What stands
// between backquotes stays.
func inline(text string) string {
	parts := strings.Split(text, "`")
	for i := 0; i < len(parts); i += 2 {
		parts[i] = strings.ReplaceAll(parts[i], "**", "")
	}
	return link.ReplaceAllStringFunc(strings.Join(parts, "`"), func(found string) string {
		m := link.FindStringSubmatch(found)
		words, target := m[1], m[2]
		page, _, _ := strings.Cut(target, "#")
		switch {
		case strings.Contains(target, "://") && target != words:
			return words + " (" + target + ")"
		case strings.HasSuffix(page, ".md") && !strings.Contains(page, "/") && page != words:
			return words + " (" + page + ")"
		}
		return words
	})
}
