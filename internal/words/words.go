// Package words writes values as parts of sentences and of command lines.
package words

import (
	"fmt"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
)

// Count returns a number with its noun, such as "1 tool" or "2 tools".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Or lists alternatives, such as "typescript, javascript or python".
func Or[T ~string](list []T) string {
	var b strings.Builder
	for i, word := range list {
		switch {
		case i > 0 && i == len(list)-1:
			b.WriteString(" or ")
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(string(word))
	}
	return b.String()
}

// Line returns s on one line of at most n characters that is safe on a terminal.
func Line(s string, n int) string {
	return gate.Cut(strings.Join(strings.Fields(gate.Terminal(s)), " "), n)
}

var plain = lazyregexp.New(`^[A-Za-z0-9@%+=:,./_-]+$`)

// Shell returns s as one word of a command line.
func Shell(s string) string {
	if plain.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Seconds returns d in seconds, with a fraction only where it matters.
func Seconds(d time.Duration) string {
	if d >= 10*time.Second {
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return fmt.Sprintf("%.4g s", d.Seconds())
}
