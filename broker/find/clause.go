package find

import (
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/codegen"
	"github.com/mcpbroker/mcpbroker/discovery"
)

const (
	// clauseMin is the smallest size of a clause that may end a description, clauseMax
	// its largest size, and markedMax its largest size before a mark, all in bytes.
	clauseMin = 32
	clauseMax = 56
	markedMax = 48
)

// clause returns the beginning of a description that is enough to choose among tools:
// the first sentence, or as many of its parts as fit. "…" marks a cut within a part.
func clause(description string, most int) string {
	text := codegen.FirstSentence(description, 4*clauseMax)
	for _, opening := range openings {
		if rest, ok := cutPrefixFold(text, opening); ok {
			if strings.Count(strings.TrimSpace(rest), " ") > 1 { // at least three words
				text = strings.TrimSpace(rest)
			}
			break
		}
	}
	text = strings.TrimSuffix(text, ".")
	if cost(text) <= most {
		return text
	}
	if end := partEnd(text, most); end > 0 {
		return closed(text[:end])
	}
	short := clipBytes(text, most)
	if blank := strings.LastIndexByte(short, ' '); blank > clauseMin || blank > 0 && strings.Contains(short[blank:], "://") {
		short = withoutLead(closed(strings.TrimRight(short[:blank], " ,;:"))) + "…"
	}
	return short
}

// withoutLead returns a clause without trailing words that only introduce the part that
// was cut, such as "of a specific".
func withoutLead(text string) string {
	for {
		blank := strings.LastIndexByte(text, ' ')
		if blank < clauseMin || !slices.Contains(joints, text[blank+1:]) && !slices.Contains(leads, text[blank+1:]) {
			return text
		}
		text = strings.TrimRight(text[:blank], " ,;:")
	}
}

var leads = []string{"a", "an", "the", "of", "specific", "specified", "given", "certain", "existing", "new", "all", "one", "its", "this", "their", "near", "about", "who"}

// closed removes a parenthesis that the clause does not close.
func closed(text string) string {
	if open := strings.LastIndexByte(text, '('); strings.Count(text[:max(0, open)], " ") >= 3 && strings.IndexByte(text[open:], ')') < 0 {
		return strings.TrimRight(text[:open], " ,;:")
	}
	return text
}

// withoutName returns a description without the tool's name at its beginning: "get_tree
// returns the tree" is shown beside that name.
func withoutName(description, name string) string {
	rest, ok := strings.CutPrefix(strings.TrimSpace(description), name+" ")
	if !ok || strings.Count(rest, " ") < 2 || !strings.ContainsAny(name, "_-.") {
		return description
	}
	return rest
}

// openings are uninformative beginnings of descriptions.
var openings = []string{"this tool will ", "this tool ", "this function ", "use this tool to ", "use this to ", "tool to ", "tool for ", "a tool to ", "a tool for ",
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
func partEnd(text string, most int) int {
	end, size := 0, 0
	for i, r := range text {
		if size >= clauseMin && beginsPart(text[i:], r) {
			end = i
		}
		if size += cost(string(r)); size > most {
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
	case strings.ContainsRune(",;:", first): // not part of an address or a number
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

// A marker marks tools that may change something, and tools whose calls a person must
// approve.
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
