// Package nearest finds the known names that are closest to one that is not
// known, for "did you mean" answers.
package nearest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
)

// maxLen is how many bytes of a name are compared.
const maxLen = 128

// Names returns at most n of known that are close to name, nearest first and
// alphabetical among equals: equal but for case and separators, within an
// edit distance of a third of the name's length, or containing it. The
// comparison is that of folded names, as far as maxLen of them.
func Names(name string, known []string, n int) []string {
	type candidate struct {
		name string
		dist int
	}
	key := Fold(prefix(name))
	if key == "" {
		return nil
	}
	chars := utf8.RuneCountInString(key)
	var found []candidate
	for _, k := range known {
		f := Fold(prefix(k))
		limit := max(1, (max(len(key), len(f))+1)/3)
		part := len(key) >= 3 && strings.Contains(f, key) || len(f) >= 3 && strings.Contains(key, f)
		if n := utf8.RuneCountInString(f); !part && max(n-chars, chars-n) > limit {
			continue // so much is added or removed at least
		}
		d := levenshtein.ComputeDistance(key, f)
		switch {
		case d <= limit:
		case part:
			d = limit + 1 + d
		default:
			continue
		}
		found = append(found, candidate{k, d})
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.dist, b.dist), cmp.Compare(a.name, b.name))
	})
	var names []string
	for _, c := range found {
		if len(names) == n {
			break
		}
		if !slices.Contains(names, c.name) {
			names = append(names, c.name)
		}
	}
	return names
}

// maxNamed is how many names Hint lists.
const maxNamed = 20

// Hint ends an error about a name that is not known: with the nearest of the known
// names, else with the word has and a list of them, or with none if there are
// none.
func Hint(name string, known []string, has, none string) string {
	near := Names(name, known, 3)
	switch {
	case len(near) > 0:
		return ": did you mean " + strings.Join(near, ", ") + "?"
	case len(known) > maxNamed:
		return fmt.Sprintf("; %s: %s and %d more", has, strings.Join(known[:maxNamed], ", "), len(known)-maxNamed)
	case len(known) > 0:
		return "; " + has + ": " + strings.Join(known, ", ")
	}
	return ": " + none
}

// prefix is as much of a name as is compared, of whole characters.
func prefix(name string) string {
	if len(name) > maxLen {
		name = strings.ToValidUTF8(name[:maxLen], "")
	}
	return name
}

// Fold makes names equal that differ only in case and separators: "-", "_",
// ".", "/", ":" and the blank.
func Fold(s string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '-', '_', '.', '/', ' ', ':':
			return -1
		}
		return r
	}, strings.ToLower(s))
}
