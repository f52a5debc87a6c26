package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcpbroker/mcpbroker/internal/words"
)

// OrEmpty keeps an empty list from being printed as null.
func OrEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// Time formats a time for a list: without the year if it is this one.
func Time(t time.Time) string {
	t = t.Local()
	if t.Year() == time.Now().Year() {
		return t.Format("Jan 02 15:04:05")
	}
	return t.Format("2006-01-02 15:04")
}

// Size formats a number of bytes.
func Size(n int64) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d B", n)
	case n < 10_000_000:
		return fmt.Sprintf("%d kB", n/1000)
	}
	return fmt.Sprintf("%d MB", n/1_000_000)
}

// Milliseconds formats a duration in milliseconds.
func Milliseconds(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d.Microseconds())/1000) }

// OrDash returns s, or a dash if it is empty.
func OrDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// ShortPath returns a path with ~ in place of the home directory.
func ShortPath(path string) string {
	if home, err := os.UserHomeDir(); err == nil && home != "/" {
		if rest, ok := strings.CutPrefix(path, home+string(filepath.Separator)); ok {
			return "~" + string(filepath.Separator) + rest
		}
	}
	return path
}

// OneLine returns s on one line of at most n characters.
func OneLine(s string, n int) string { return words.Line(s, n) }

// ScreenWidth is the width of tables that are made to fit.
const ScreenWidth = 80

// Yes returns "yes" or "".
func Yes(is bool) string {
	if is {
		return "yes"
	}
	return ""
}

// Longest returns the number of characters of the longest of some texts, at least n.
func Longest[Row any](n int, rows []Row, text func(Row) string) int {
	for _, r := range rows {
		n = max(n, utf8.RuneCountInString(text(r)))
	}
	return n
}

// Wrap returns the words of a text on lines of at most n characters, unless one
// is longer. There is at least one line.
func Wrap(text string, n int) []string {
	list := []string{""}
	for word := range strings.FieldsSeq(text) {
		last := &list[len(list)-1]
		switch {
		case *last == "":
			*last = word
		case utf8.RuneCountInString(*last)+1+utf8.RuneCountInString(word) <= n:
			*last += " " + word
		default:
			list = append(list, word)
		}
	}
	return list
}

// Duration formats a duration in its largest unit.
func Duration(d time.Duration) string {
	switch {
	case d < 90*time.Second:
		return fmt.Sprintf("%d s", max(int(d.Seconds()), 0))
	case d < 90*time.Minute:
		return fmt.Sprintf("%d min", int(d.Round(time.Minute).Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Round(time.Hour).Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// ShellWord quotes a word for a shell if that is needed.
func ShellWord(s string) string { return words.Shell(s) }
