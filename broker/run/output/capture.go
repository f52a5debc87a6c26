package output

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/results"
)

// A Capture keeps the head and the tail of a stream within a budget of characters, and counts the
// rest. If the stream exceeds the budget, all of it goes to a Stream. It is not safe for
// concurrent use.
type Capture struct {
	Limit         int       // characters
	Tee           io.Writer // receives everything as well; may be nil
	Store         *Stream   // stores all of a long stream; may be nil
	head          []byte
	tail          []byte
	bytes         int64
	chars         int64
	replayedBytes int64 // bytes that tee has from an earlier run
}

// Restart discards the output of calls that are repeated.
func (c *Capture) Restart() {
	c.Store.restart()
	*c = Capture{Limit: c.Limit, Tee: c.Tee, Store: c.Store, replayedBytes: max(c.replayedBytes, c.bytes)}
}

// Chars returns the number of characters written.
func (c *Capture) Chars() int64 { return c.chars }

func (c *Capture) Write(p []byte) (int, error) {
	if fresh := p[min(max(c.replayedBytes-c.bytes, 0), int64(len(p))):]; c.Tee != nil && len(fresh) > 0 {
		if _, err := c.Tee.Write(fresh); err != nil {
			return 0, err
		}
	}
	c.bytes += int64(len(p))
	for _, b := range p {
		if utf8.RuneStart(b) {
			c.chars++
		}
	}
	room := c.Limit * utf8.UTFMax
	rest := p
	if len(c.head) < room {
		n := min(len(rest), room-len(c.head))
		c.head = append(c.head, rest[:n]...)
		rest = rest[n:]
	}
	c.tail = append(c.tail, rest...)
	if c.Store.started() {
		c.Store.write(p)
	} else if c.chars > int64(c.Limit) {
		c.Store.write(c.head, c.tail) // nothing was dropped yet
	}
	// Trimming at twice the room is cheap: each byte moves once.
	if len(c.tail) > 2*room {
		c.tail = slices.Delete(c.tail, 0, len(c.tail)-room)
	}
	return len(p), nil
}

// Text returns the captured text, or its head and tail around a note about the gap, and whether it
// was cut. limit may be smaller than the capture's. ref refers to the complete text, if it was cut
// and stored.
func (c *Capture) Text(limit int) (text, ref string, truncated bool) {
	if c.chars <= int64(limit) {
		return strings.ToValidUTF8(string(c.head)+string(c.tail), "�"), "", false
	}
	if !c.Store.started() {
		c.Store.write(c.head, c.tail)
	}
	ref = c.Store.commit()
	headChars := limit * 2 / 3
	tailChars := limit - headChars
	end := c.tail
	if len(end) < tailChars*utf8.UTFMax {
		end = append(slices.Clone(c.head), c.tail...)
	}
	head, tail := results.WholeLines(firstChars(c.head, headChars), lastChars(end, tailChars))
	shown := utf8.RuneCountInString(head) + utf8.RuneCountInString(tail)
	return Cut(head, tail, c.chars-int64(shown), c.chars, ref), ref, true
}

// BudgetName names the setting that limits stdout and the result together.
const BudgetName = " (config: maxOutputChars)"

// Cut joins both ends of a text around a note with the length of the gap and, if the text was
// stored, how to read it.
func Cut(head, tail string, missing, all int64, ref string) string {
	if ref != "" {
		ref = "; results.get('" + ref + "')"
	}
	return fmt.Sprintf("%s… [truncated: %s of %s characters%s] …%s", head, thousands(missing), thousands(all), ref, tail)
}

func firstChars(b []byte, n int) string {
	for i := range string(b) {
		if n == 0 {
			return string(b[:i])
		}
		n--
	}
	return strings.ToValidUTF8(string(b), "�")
}

func lastChars(b []byte, n int) string {
	i := len(b)
	for ; i > 0 && n > 0; n-- {
		_, size := utf8.DecodeLastRune(b[:i])
		i -= size
	}
	return strings.ToValidUTF8(string(b[i:]), "�")
}

// thousands formats n with commas: 74,010,000.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// CutResult returns a result in at most limit characters: complete if it fits, otherwise cut
// between items, keys or lines, with the reference that store returns.
func CutResult(value json.RawMessage, limit int, store func(json.RawMessage) string) (cutValue json.RawMessage, ref string, truncated bool) {
	if utf8.RuneCount(value) <= limit {
		return value, "", false
	}
	ref = store(value)
	mark := func(g results.Gap) string { return gapText(g, ref) }
	cutValue, ok := results.Cut(value, limit, mark)
	if !ok {
		cutValue = gate.Compact(mark(results.Gap{Missing: int64(utf8.RuneCount(value)), All: int64(utf8.RuneCount(value)), Unit: "characters"}))
	}
	return cutValue, ref, true
}

// gapText describes a gap in a result, with the options of results.get that read it and, if the
// result was stored, its reference.
func gapText(g results.Gap, ref string) string {
	text := fmt.Sprintf("… [truncated: %s of %s %s", thousands(g.Missing), thousands(g.All), g.Unit)
	if ref == "" {
		return text + "] …"
	}
	if g.Part.Path != "" {
		text += ", path '" + g.Part.Path + "'"
	}
	if g.Part.Limit > 0 {
		text += fmt.Sprintf(", offset %d", g.Part.Offset)
	}
	return text + "; results.get('" + ref + "')] …"
}
