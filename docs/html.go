package docs

import (
	"fmt"
	"html"
	"strconv"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
)

// HTML is Markdown as HTML, for what Plain knows. All text is escaped. Links to other
// pages lead to their names, without ".md"; what is not a page here is words.
func HTML(markdown string) string {
	p := htmlPrinter{ids: make(map[string]bool)}
	p.blocks(strings.Split(strings.TrimRight(markdown, "\n"), "\n"))
	return p.out.String()
}

type htmlPrinter struct {
	out strings.Builder
	ids map[string]bool
}

func (p *htmlPrinter) blocks(lines []string) {
	for len(lines) > 0 {
		lines = lines[p.block(lines):]
	}
}

// block writes what lines begin with, and returns how many of them that are.
func (p *htmlPrinter) block(lines []string) int {
	line := lines[0]
	switch {
	case strings.TrimSpace(line) == "":
		return 1
	case fence.MatchString(line):
		return p.code(lines)
	case heading.MatchString(line):
		m := heading.FindStringSubmatch(line)
		level := min(len(m[1]), 6)
		fmt.Fprintf(&p.out, "<h%d id=\"%s\">%s</h%d>\n", level, p.id(m[2]), inlineHTML(m[2]), level)
		return 1
	case strings.HasPrefix(line, "|"):
		n := run(lines, func(l string) bool { return strings.HasPrefix(l, "|") })
		p.table(lines[:n])
		return n
	case bullet.MatchString(line):
		return p.list(lines)
	}
	n := max(1, run(lines, isText))
	p.out.WriteString("<p>" + inlineHTML(strings.Join(lines[:n], "\n")) + "</p>\n")
	return n
}

var notOfAnchor = lazyregexp.New(`[^\pL\pN _-]`)

// id is the anchor of a heading, as GitHub makes it.
func (p *htmlPrinter) id(title string) string {
	anchor := strings.ReplaceAll(notOfAnchor.ReplaceAllString(strings.ToLower(inline(title)), ""), " ", "-")
	for n, first := 1, anchor; p.ids[anchor]; n++ {
		anchor = first + "-" + strconv.Itoa(n)
	}
	p.ids[anchor] = true
	return anchor
}

func (p *htmlPrinter) code(lines []string) int {
	indent := len(lines[0]) - len(strings.TrimLeft(lines[0], " "))
	p.out.WriteString(`<pre class="block" tabindex="0">`)
	for i, line := range lines[1:] {
		if fence.MatchString(line) {
			p.out.WriteString("</pre>\n")
			return i + 2
		}
		p.out.WriteString(html.EscapeString(line[min(indent, len(line)-len(strings.TrimLeft(line, " "))):]) + "\n")
	}
	p.out.WriteString("</pre>\n")
	return len(lines)
}

// list writes the items that are as deep as the first one, with what is deeper within
// them.
func (p *htmlPrinter) list(lines []string) int {
	deep := func(l string) int { return len(l) - len(strings.TrimLeft(l, " ")) }
	depth, mark := deep(lines[0]), bullet.FindStringSubmatch(lines[0])[2]
	tag := "ul"
	if mark != "-" && mark != "*" {
		tag = "ol"
	}
	p.out.WriteString("<" + tag + ">\n")
	done := 0
	for done < len(lines) && bullet.MatchString(lines[done]) && deep(lines[done]) == depth {
		width := len(bullet.FindString(lines[done]))
		item := []string{lines[done][width:]}
		for done++; done < len(lines) && strings.TrimSpace(lines[done]) != "" && deep(lines[done]) > depth; done++ {
			item = append(item, lines[done][min(deep(lines[done]), width):])
		}
		n := max(1, run(item, isText))
		p.out.WriteString("<li>" + inlineHTML(strings.Join(item[:n], "\n")))
		p.blocks(item[n:])
		p.out.WriteString("</li>\n")
	}
	p.out.WriteString("</" + tag + ">\n")
	return done
}

func (p *htmlPrinter) table(lines []string) {
	p.out.WriteString(`<div class="scroll" role="region" aria-label="Table" tabindex="0"><table>` + "\n")
	for i, line := range lines {
		row := rawCells(line)
		tag := "td"
		switch {
		case i == 1, i == 0 && strings.Join(row, "") == "":
			continue // the line below the head, and a head that says nothing
		case i == 0:
			tag = "th"
		}
		p.out.WriteString("<tr>")
		for _, cell := range row {
			p.out.WriteString("<" + tag + ">" + inlineHTML(cell) + "</" + tag + ">")
		}
		p.out.WriteString("</tr>\n")
	}
	p.out.WriteString("</table></div>\n")
}

var (
	picture = lazyregexp.New(`!\[([^\]]*)\]\([^)]*\)`)
	strong  = lazyregexp.New(`\*\*([^*]+)\*\*`)
	emph    = lazyregexp.New(`\*([^*\s][^*]*)\*`)
	span    = lazyregexp.New("\x00(\\d+)\x00")
	local   = lazyregexp.New(`^(?:([\w-]+)\.md)?(#[\w-]+)?$`)
)

// inlineHTML is text with its code, emphasis and links.
func inlineHTML(text string) string {
	var spans []string
	var b strings.Builder
	for {
		at := strings.IndexByte(text, '`')
		if at < 0 {
			break
		}
		marks := text[at : at+len(text[at:])-len(strings.TrimLeft(text[at:], "`"))]
		code, rest, closed := strings.Cut(text[at+len(marks):], marks)
		if !closed {
			break
		}
		if len(marks) > 1 {
			code = strings.TrimSpace(code)
		}
		fmt.Fprintf(&b, "%s\x00%d\x00", text[:at], len(spans))
		spans = append(spans, "<code>"+html.EscapeString(code)+"</code>")
		text = rest
	}
	b.WriteString(text)
	out := html.EscapeString(picture.ReplaceAllString(b.String(), "*$1*"))
	out = link.ReplaceAllStringFunc(out, func(found string) string {
		m := link.FindStringSubmatch(found)
		words, target := m[1], m[2]
		if strings.HasPrefix(target, "https://") {
			return `<a href="` + target + `" rel="noreferrer">` + words + "</a>"
		}
		l := local.FindStringSubmatch(target)
		if l == nil || l[0] == "" {
			return words
		}
		if _, ok := Page(l[1]); l[1] != "" && !ok {
			return words
		}
		return `<a href="` + l[1] + l[2] + `">` + words + "</a>"
	})
	out = emph.ReplaceAllString(strong.ReplaceAllString(out, "<strong>$1</strong>"), "<em>$1</em>")
	return span.ReplaceAllStringFunc(out, func(found string) string {
		n, _ := strconv.Atoi(strings.Trim(found, "\x00"))
		return spans[n]
	})
}
