package discovery

import (
	"strings"
	"unicode/utf8"

	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// DefaultInstructions is how many characters of a server's instructions are shown.
const DefaultInstructions = 400

// An InstructionsSetting is how the configuration changes what is shown of a server's
// instructions. The zero value shows the first DefaultInstructions characters.
type InstructionsSetting struct {
	// Off shows none.
	Off bool
	// Text is shown in place of those of the server, if it is not empty.
	Text string
	// MaxChars is how many characters are shown of those of the server; zero means
	// DefaultInstructions.
	MaxChars int
}

// Instructions are what models read about a server as a whole. At most one field is set.
type Instructions struct {
	// Says are the server's own words, which nobody vouches for.
	Says string `json:"says,omitempty"`
	// Configured is the text of the configuration.
	Configured string `json:"configured,omitempty"`
}

// Text returns the text, whoever wrote it.
func (i *Instructions) Text() string {
	if i == nil {
		return ""
	}
	return i.Says + i.Configured
}

// Apply returns a listing with the instructions that models read.
func (s InstructionsSetting) Apply(l Listing) Listing {
	l.Shown = nil
	if s.Off {
		return l
	}
	if text := strings.TrimSpace(gate.Clean(s.Text)); text != "" {
		l.Shown = &Instructions{Configured: text}
		return l
	}
	most := s.MaxChars
	if most <= 0 {
		most = DefaultInstructions
	}
	if text := shortened(l.Instructions, most); text != "" {
		l.Shown = &Instructions{Says: text}
	}
	return l
}

// shortened returns the beginning of a text, up to the end of a line or a sentence, in
// at most so many characters. It leaves out indentation, empty lines and lines that only
// separate others.
func shortened(text string, most int) string {
	var lines []string
	size := 0
	for line := range strings.Lines(gate.Clean(text)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") || strings.Trim(line, "-=*_~#+|: ") == "" {
			continue
		}
		lines = append(lines, line)
		if size += utf8.RuneCountInString(line) + 1; size > most+1 {
			break
		}
	}
	text = strings.Join(lines, "\n")
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	text = firstRunes(text, most-1)
	end := strings.LastIndexAny(text, " \n")
	for _, stop := range sentenceEnds {
		if i := strings.LastIndex(text, stop); i >= len(text)/2 {
			end = i + len(strings.TrimSpace(stop))
			break
		}
	}
	if end >= len(text)/2 {
		text = text[:end]
	}
	return strings.TrimSpace(text) + "…"
}

// sentenceEnds are where a long text is cut, the best places first.
var sentenceEnds = []string{"\n", ". ", "! ", "? ", "。", "！", "？"}

// firstRunes returns the first n characters of s.
func firstRunes(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i]
		}
	}
	return s
}

// ShownInstructions returns what models read of the instructions of s, or nil. A server
// of which nothing can be used says nothing.
func (s *Server) ShownInstructions() *Instructions {
	if len(s.Tools)+len(s.Prompts)+len(s.Resources)+len(s.Skills) == 0 {
		return nil
	}
	return s.Shown
}
