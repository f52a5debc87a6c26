// Package nearest finds the known names that are closest to an unknown name, for "did you mean"
// hints.
package nearest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
)

// maxLen bounds the compared part of a name, in bytes.
const maxLen = 128

// destroys are words of names of tools that destroy something, and keeps are words with
// an opposite meaning.
var (
	destroys  = []string{"delete", "remove", "destroy", "drop", "purge", "erase", "wipe", "clear", "truncate", "uninstall", "revoke", "kill"}
	preserves = []string{"create", "add", "get", "list", "read", "insert", "make", "new", "show", "find", "search", "update", "set", "archive", "restore", "install", "grant", "start"}
)

// opposed reports whether one name begins with a word that destroys and the other with
// one that does not, so that neither is a misspelling of the other.
func opposed(asked, known string) bool {
	from, to := destroying(asked), destroying(known)
	return from > 0 && to < 0 || from < 0 && to > 0
}

// destroying returns 1 if the first known verb of a name destroys, -1 if it does not,
// and 0 if none of the first words is known. It skips the name of a server.
func destroying(name string) int {
	for i, word := range words(prefix(name)) {
		switch {
		case i == 4:
			return 0
		case slices.Contains(destroys, word):
			return 1
		case slices.Contains(preserves, word):
			return -1
		}
	}
	return 0
}

// words returns the words of a name of any style, in lower case.
func words(name string) (list []string) {
	start := 0
	for i, r := range name {
		letter := 'a' <= r|0x20 && r|0x20 <= 'z' && r < utf8.RuneSelf
		capital := letter && r < 'a' && i > 0 && name[i-1] >= 'a'
		if letter && !capital {
			continue
		}
		if i > start {
			list = append(list, strings.ToLower(name[start:i]))
		}
		if start = i; !letter {
			start++
		}
	}
	if start < len(name) {
		list = append(list, strings.ToLower(name[start:]))
	}
	return list
}

// Names returns at most n of known that are close to name, nearest first and
// alphabetical among equals: equal except for case and separators, within an edit distance
// of a third of the name's length, or containing it. It leaves out opposed names, such
// as one that creates for one that deletes. It compares at most maxLen bytes of folded
// names.
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
			continue // at least that much is added or removed
		}
		d := levenshtein.ComputeDistance(key, f)
		switch {
		case d <= limit:
		case part:
			d = limit + 1 + d
		default:
			continue
		}
		if !opposed(name, k) {
			found = append(found, candidate{k, d})
		}
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

// maxNamed bounds the names that Hint lists.
const maxNamed = 20

// Hint returns the end of an error about an unknown name: the nearest known names, or otherwise
// the word has and a list of all, or none if there are none.
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

// prefix returns the compared part of a name, in whole characters.
func prefix(name string) string {
	if len(name) > maxLen {
		name = strings.ToValidUTF8(name[:maxLen], "")
	}
	return name
}

// Fold maps names to equal texts if they differ only in case and separators: "-", "_", ".", "/",
// ":" and the blank.
func Fold(s string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '-', '_', '.', '/', ' ', ':':
			return -1
		}
		return r
	}, strings.ToLower(s))
}
