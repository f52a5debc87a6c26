package skills

import (
	"strconv"
	"strings"
	"unicode"
)

// DefaultBudget is how many tokens a catalogue may cost when none is given.
const DefaultBudget = 1500

var escapeXML = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// Catalogue is what a model reads about the skills before it uses one: names and
// descriptions as XML if that costs at most budget tokens, else names alone,
// else how many there are. A budget of 0 means DefaultBudget. Without a skill it
// is empty.
func (s *Snapshot) Catalogue(budget int) string {
	if len(s.shown) == 0 {
		return ""
	}
	if budget == 0 {
		budget = DefaultBudget
	}
	if text := s.xml(); Tokens(text) <= budget {
		return text
	}
	var names []string
	for _, k := range s.shown {
		names = append(names, escapeXML.Replace(k.Ref))
	}
	if text := "<available_skills>" + strings.Join(names, ", ") + "</available_skills>"; Tokens(text) <= budget {
		return text
	}
	return strconv.Itoa(len(s.shown)) + " skills; search_tools finds them"
}

// xml is the whole catalogue, whatever it costs.
func (s *Snapshot) xml() string {
	var b strings.Builder
	b.WriteString("<available_skills>\n")
	for _, k := range s.shown {
		b.WriteString("<skill><name>" + escapeXML.Replace(k.Ref) + "</name>")
		if k.Scope == ScopeServer { // author of these words
			b.WriteString("<origin>" + escapeXML.Replace(k.Origin()) + "</origin>")
		}
		b.WriteString("<description>" + escapeXML.Replace(oneLine(k.Description)) + "</description>")
		b.WriteString("</skill>\n")
	}
	b.WriteString("</available_skills>")
	return b.String()
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Tokens estimates what a text costs: four characters of ASCII are one token,
// and so is every other character.
func Tokens(text string) int {
	ascii, other := 0, 0
	for _, r := range text {
		if r <= unicode.MaxASCII {
			ascii++
		} else {
			other++
		}
	}
	return (ascii+3)/4 + other
}
