package codegen

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
)

const (
	// maxProse bounds the text that is searched for its first sentence.
	maxProse = 8 << 10
	// fewWords is the number of words below which a sentence is too short to describe a
	// tool.
	fewWords = 3
	// labelWords is the largest number of words of a line without a verb, such as
	// "Usage guidance:" or "🎯 Purpose".
	labelWords = 4
)

// FirstSentence returns the first sentence of text on one line, in at most limit
// characters, with "…" where it was cut. It skips leading headings, emoji, list marks,
// Markdown, code and tables. In a text with sections, the section on the purpose comes
// first. A sentence of one or two words is followed by the next one.
func FirstSentence(text string, limit int) string { return sentence(text, limit, fewWords) }

// sentence is like FirstSentence, with another limit for short sentences.
func sentence(text string, limit, few int) string {
	if len(text) > maxProse {
		text = strings.ToValidUTF8(text[:maxProse], "")
	}
	return cutWords(opening(text, few), limit)
}

// cutWords cuts a line after a word, never inside an address.
func cutWords(line string, limit int) string {
	runes := []rune(line)
	if len(runes) <= limit {
		return line
	}
	cut := string(runes[:limit-1])
	if sp := strings.LastIndexByte(cut, ' '); sp > limit/2 || sp > 0 && strings.Contains(cut[sp:], "://") {
		cut = cut[:sp]
	}
	return strings.TrimRight(cut, " ,;:") + "…"
}

// opening returns the whole first sentence of a text.
func opening(text string, few int) string {
	if s, ok := firstLine(text, few); ok {
		return s
	}
	lines := readLines(text)
	for i, l := range lines {
		if l.kind == heading && isPurpose(l.text) && !firstIs(lines[:i], prose) {
			if s := firstOf(lines[i+1:], few); s != "" {
				return s
			}
		}
	}
	if s := firstOf(lines, few); s != "" {
		return s
	}
	return oneLine(text)
}

// firstLine returns the first sentence of a text that begins with it on one line. That
// is fast and enough for most texts.
func firstLine(text string, few int) (string, bool) {
	first, rest, _ := strings.Cut(strings.TrimLeft(text, " \t\r\n"), "\n")
	if strings.HasPrefix(first, "```") || strings.HasPrefix(first, "~~~") {
		return "", false
	}
	l := readLine(strings.TrimSpace(first))
	if l.kind != prose {
		return "", false
	}
	s := sentenceOf(l.text, few)
	next, _, _ := strings.Cut(rest, "\n")
	ends := len(s) < len(l.text) || strings.TrimSpace(next) == "" && !strings.HasSuffix(s, ":")
	return s, ends && wordsIn(s) >= few
}

// firstIs reports whether the first non-blank line is of the given kind.
func firstIs(lines []line, kind lineKind) bool {
	for _, l := range lines {
		if l.kind != blank {
			return l.kind == kind
		}
	}
	return false
}

// firstOf returns the first sentence of lines with enough words, or else the best one.
func firstOf(lines []line, few int) string {
	var said, headings []string // with too few words
	for i := 0; i < len(lines); i++ {
		switch lines[i].kind {
		case heading:
			headings = append(headings, lines[i].text)
		case prose, item:
			paragraph, end := paragraphAt(lines, i)
			s := sentenceOf(paragraph, few)
			if len(said) > 0 {
				s = strings.Join(append(said, s), " ")
			}
			if wordsIn(s) >= few {
				return s
			}
			said = append(said[:0], finished(s))
			i = end - 1
		}
	}
	if all := strings.Join(append(headings, said...), ": "); wordsIn(all) >= few || len(lines) == 1 {
		return strings.TrimSuffix(all, ".")
	}
	var all []string
	for _, l := range lines {
		if l.text != "" {
			all = append(all, l.text)
		}
	}
	return strings.Join(all, " ")
}

// finished ends a sentence with a full stop if another one follows.
func finished(s string) string {
	if r, _ := utf8.DecodeLastRuneInString(s); unicode.IsLetter(r) || unicode.IsDigit(r) {
		return s + "."
	}
	return s
}

// paragraphAt joins the lines of a paragraph. A line that ends with a colon continues
// with the list below it.
func paragraphAt(lines []line, i int) (text string, end int) {
	text = lines[i].text
	for end = i + 1; end < len(lines); end++ {
		l := lines[end]
		open := strings.HasSuffix(text, ":")
		if l.kind != prose && !(open && (l.kind == item || l.kind == blank)) {
			break
		}
		if l.text != "" {
			text += " " + l.text
		}
		if l.kind == item || len(text) > maxProse/4 {
			return text, end + 1
		}
	}
	return text, end
}

// sentenceOf returns the first sentence of a paragraph, and further ones while it has
// too few words.
func sentenceOf(text string, few int) string {
	depth := 0
	for i, r := range text {
		end := i + utf8.RuneLen(r)
		switch r {
		case '(', '（', '[':
			depth++
		case ')', '）', ']':
			depth--
		case '。', '！', '？', '｡':
			if depth <= 0 && wordsIn(text[:end]) >= few {
				return text[:end]
			}
		case '.', '!', '?', '।', '؟', '۔', '።':
			end += closing(text[end:])
			if end < len(text) && text[end] != ' ' || depth > 0 && strings.ContainsAny(text[end:], ")]") {
				continue
			}
			if (r != '.' || !continuesSentence(text[:i+1], text[end:])) && wordsIn(text[:end]) >= few {
				return text[:end]
			}
		}
	}
	return text
}

// closing returns the length of the quotes and emphasis at the beginning of a text.
func closing(text string) int {
	return len(text) - len(strings.TrimLeft(text, "\"'`”’»*"))
}

// continuesSentence reports whether the sentence continues after the full stop at the end of
// before: the stop belongs to an abbreviation, an enumeration or an omission.
func continuesSentence(before, after string) bool {
	next, _ := utf8.DecodeRuneInString(strings.TrimLeft(after, ` "'(`+"`"))
	word := before[strings.LastIndexAny(before, " (\"'`/")+1:]
	lower := strings.ToLower(word)
	switch {
	case strings.HasSuffix(word, ".."), lower == "etc.":
		return after != "" && !unicode.IsUpper(next)
	case abbreviations[lower]:
		return after != ""
	case len(word) <= 3 && strings.Trim(word, "0123456789.") == "": // "Steps: 1. Open"
		lead := strings.TrimSpace(before[:len(before)-len(word)])
		return lead == "" || strings.ContainsRune(".:;,!?", rune(lead[len(lead)-1]))
	}
	// U.S., a.m., J.
	letters := strings.Split(strings.TrimSuffix(word, "."), ".")
	for _, l := range letters {
		if r, n := utf8.DecodeRuneInString(l); n != len(l) || !unicode.IsLetter(r) {
			return false
		}
	}
	return after != "" && (len(letters) > 1 && !unicode.IsUpper(next) || len(letters) == 1 && unicode.IsUpper(rune(word[0])))
}

var abbreviations = map[string]bool{}

func init() {
	for a := range strings.FieldsSeq("e.g. i.e. eg. ie. vs. approx. max. min. no. nos. inc. ltd. corp. co. llc. dr. mr. mrs. ms. prof. st. cf. fig. figs. al. " +
		"ver. resp. incl. excl. dept. est. ca. p. pp. vol. ed. jr. sr. sec. ref. z.b. d.h. bzw. ggf. usw. inkl. p.ex. т.е. т.д. т.п. напр.") {
		abbreviations[a] = true
	}
}

// wordsIn counts the words of a text. In a script without spaces, three of four
// characters count as one word.
func wordsIn(text string) int {
	n, unspaced := 0, 0
	for word := range strings.FieldsSeq(text) {
		if strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			n++
		}
		for _, r := range word {
			if r >= 0xE00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) {
				unspaced++
			}
		}
	}
	return max(n, unspaced*3/4)
}

// A line is a line of a description without its marks.
type line struct {
	kind lineKind
	text string
}

type lineKind int

const (
	blank lineKind = iota
	prose
	item    // of a list
	heading // or a label without content
	other   // code, a table, JSON
)

func readLines(text string) []line {
	var lines []line
	fence := ""
	for raw := range strings.Lines(text) {
		s := strings.TrimSpace(raw)
		if fence != "" {
			if strings.HasPrefix(s, fence) {
				fence = ""
			}
			lines = append(lines, line{other, oneLine(s)})
			continue
		}
		if strings.HasPrefix(s, "```") || strings.HasPrefix(s, "~~~") {
			if inline := strings.Trim(s, "`~"); !strings.Contains(s[3:], s[:3]) {
				fence = s[:3]
				s = inline
			}
			lines = append(lines, line{other, oneLine(s)})
			continue
		}
		if underline(s) {
			if n := len(lines) - 1; n >= 0 && lines[n].kind == prose && wordsIn(lines[n].text) <= 2*labelWords {
				lines[n].kind = heading
			}
			continue
		}
		lines = append(lines, readLine(s))
	}
	return lines
}

// underline reports whether a line is a rule or underlines a heading.
func underline(s string) bool {
	return len(s) >= 3 && (strings.Trim(s, "=") == "" || strings.Trim(s, "-") == "" || strings.Trim(s, "*") == "" || strings.Trim(s, "_") == "")
}

var (
	listMark  = lazyregexp.New(`^(?:[-*+•·▪●◦‣–—]|\(?\d{1,2}[.)]|\(?[a-zA-Z]\)|\[[ xX]\])\s+`)
	image     = lazyregexp.New(`!\[[^\]]*\]\([^)]*\)`)
	bold      = lazyregexp.New(`\*\*([^*]+)\*\*`)
	link      = lazyregexp.New(`\[([^\]]+)\]\((?:[^()\s]|\([^()]*\))*\)`)
	formatTag = lazyregexp.New(`(?i)</?(?:b|i|u|em|strong|p|br|span|div|h[1-6]|ul|ol|li|a)(?:\s[^<>]*)?/?>`)
	jsonLine  = lazyregexp.New(`^(?:[{\[](?:\s*["{\[}\]]|\s*$)|"[^"]*"\s*:|[}\]])`)
	lineTag   = lazyregexp.New(`^</?[A-Za-z][\w:-]*>`)
)

// readLine removes the marks of a line and classifies it.
func readLine(s string) line {
	if s == "" {
		return line{}
	}
	kind, marked := prose, false
	if strings.HasPrefix(s, "|") && strings.Count(s, "|") > 1 || strings.IndexByte("{[}]\"", s[0]) >= 0 && jsonLine.MatchString(s) {
		return line{other, oneLine(s)}
	}
	s = unformatted(s)
	for {
		before := s
		s = strings.TrimLeft(s, "> \t")
		if h := strings.TrimLeft(s, "#"); len(s)-len(h) <= 6 && h != s && (h == "" || h[0] == ' ') {
			s, kind = strings.TrimRight(h, " #"), heading
		}
		if m := listMark.FindString(s); m != "" {
			if s = s[len(m):]; kind == prose {
				kind = item
			}
		}
		if t := strings.TrimLeftFunc(withoutKeycap(s), ornament); t != s {
			s, marked = t, true
		}
		if s == before {
			break
		}
	}
	plain := s
	if strings.Contains(s, "**") {
		plain = bold.ReplaceAllString(s, "$1")
	}
	marked = marked || plain != s && strings.HasPrefix(s, "**")
	s = oneLine(plain)
	if s == "" || !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
		return line{}
	}
	if kind == heading || wordsIn(s) <= labelWords && (strings.HasSuffix(s, ":") || strings.HasSuffix(s, "：") || marked && !sentenceEnds(s)) {
		return line{heading, strings.TrimRight(s, ":： ")}
	}
	if label, rest, ok := strings.Cut(s, ":"); ok {
		switch rest = strings.TrimSpace(rest); {
		case isPurpose(label) && wordsIn(rest) > 0:
			s = rest
		case isName(label) && wordsIn(rest) < fewWords:
			return line{heading, rest}
		}
	}
	return line{kind, s}
}

// oneLine returns s with each run of white space replaced by one blank.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// unformatted replaces tags and links of a line by their text.
func unformatted(s string) string {
	if strings.ContainsAny(s, "<&") {
		s = formatTag.ReplaceAllString(s, " ")
		s = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&#39;", "'", "&nbsp;", " ", "&amp;", "&").Replace(s)
		s = strings.TrimSpace(s)
		if tag := lineTag.FindString(s); tag != "" && (tag == s || strings.HasSuffix(s, "</"+tag[1:])) {
			s = strings.TrimSpace(strings.TrimSuffix(s[len(tag):], "</"+tag[1:]))
		}
	}
	if strings.Contains(s, "](") {
		s = link.ReplaceAllString(image.ReplaceAllString(s, " "), "$1")
	}
	return s
}

// withoutKeycap removes a leading keycap emoji.
func withoutKeycap(s string) string {
	if len(s) > 1 && s[0] >= '0' && s[0] <= '9' {
		if rest, ok := strings.CutPrefix(strings.TrimPrefix(s[1:], "\uFE0F"), "\u20E3"); ok {
			return rest
		}
	}
	return s
}

// ornament reports whether r is an emoji or another symbol that is not part of a
// sentence.
func ornament(r rune) bool {
	switch {
	case r == ' ', r >= 0xFE00 && r <= 0xFE0F, r == 0x200D, r == 0x20E3, r >= 0x1F3FB && r <= 0x1F3FF:
		return true
	case r < 0xA0:
		return false
	}
	return unicode.Is(unicode.So, r) || r >= 0x2190 && r < 0x2200 || strings.ContainsRune("•·▪●◦‣★–—", r)
}

func sentenceEnds(s string) bool {
	r, _ := utf8.DecodeLastRuneInString(s)
	return strings.ContainsRune(".!?。！？।؟", r)
}

// isPurpose reports whether a label introduces the purpose of a tool.
func isPurpose(label string) bool {
	switch strings.ToLower(strings.TrimSpace(label)) {
	case "purpose", "description", "summary", "overview", "what it does", "what this tool does", "what this does", "about", "tool description", "function", "functionality":
		return true
	}
	return false
}

func isName(label string) bool {
	switch strings.ToLower(strings.TrimSpace(label)) {
	case "name", "title", "tool", "tool name", "function name":
		return true
	}
	return false
}
