package find

import (
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/codegen"
	"github.com/mcpbroker/mcpbroker/discovery"
)

const (
	// clauseMin is from how many bytes on a description ends with a part of the
	// sentence, clauseMax how many it takes at most.
	clauseMin = 32
	clauseMax = 56
)

// clause is the beginning of a description, as much as a reader needs to choose
// among tools: the first sentence, and of a long one as many parts as fit.
// "…" says that it was cut within a part.
func clause(description string) string {
	text := codegen.FirstSentence(description, 4*clauseMax)
	for _, opening := range openings {
		if rest, ok := cutPrefixFold(text, opening); ok {
			if strings.Count(strings.TrimSpace(rest), " ") > 1 { // three words say something
				text = strings.TrimSpace(rest)
			}
			break
		}
	}
	text = strings.TrimSuffix(text, ".")
	if cost(text) <= clauseMax {
		return text
	}
	if end := partEnd(text); end > 0 {
		return text[:end]
	}
	short := clipBytes(text, clauseMax)
	if blank := strings.LastIndexByte(short, ' '); blank > clauseMin || blank > 0 && strings.Contains(short[blank:], "://") {
		short = strings.TrimRight(short[:blank], " ,;:") + "…"
	}
	return short
}

// openings are what descriptions begin with and say nothing by.
var openings = []string{"this tool ", "this function ", "use this tool to ", "use this to ", "tool to ", "tool for ", "a tool to ", "a tool for ",
	"allows you to ", "used to "}

func cutPrefixFold(text, prefix string) (rest string, ok bool) {
	if len(text) < len(prefix) || !strings.EqualFold(text[:len(prefix)], prefix) {
		return text, false
	}
	return text[len(prefix):], true
}

// joints are the words that begin another part of a sentence.
var joints = []string{"with", "for", "using", "including", "from", "in", "on", "based", "by", "such", "that", "which", "and", "or", "to", "via", "as", "at",
	"into", "within", "if", "when", "after", "before", "given", "returning", "across", "through"}

// partEnd is where the last part of a sentence ends that fits, or 0.
func partEnd(text string) int {
	end, size := 0, 0
	for i, r := range text {
		if size >= clauseMin && beginsPart(text[i:], r) {
			end = i
		}
		if size += cost(string(r)); size > clauseMax {
			break
		}
	}
	for {
		text = strings.TrimRight(text[:end], " ,;:(")
		blank := strings.LastIndexByte(text, ' ')
		if last := text[blank+1:]; blank < 0 || last != "a" && last != "the" && !slices.Contains(joints, last) {
			return len(text)
		}
		end = blank // a part does not end in "such as"
	}
}

func beginsPart(rest string, first rune) bool {
	switch {
	case strings.ContainsRune(",;:", first): // not that of an address, or of a number
		return len(rest) > 1 && rest[1] == ' '
	case strings.ContainsRune("(—–，。；：（、", first):
		return true
	}
	after, ok := strings.CutPrefix(rest, " ")
	if !ok {
		return false
	}
	word, _, more := strings.Cut(after, " ")
	return more && (word == "-" || slices.Contains(joints, word))
}

const writeMark, askMark = " [write]", " [asks]"

// A marker says what is marked of a tool: that it may change something, and that
// a person is asked before each call.
type marker interface {
	Writes(*discovery.Tool) bool
	Asks(*discovery.Tool) bool
}

// marked adds the marks of a tool.
func (w renderer) marked(description string, t *discovery.Tool) string {
	if w.marks.Writes(t) {
		description += writeMark
	}
	if w.marks.Asks(t) {
		description += askMark
	}
	return strings.TrimSpace(description)
}
