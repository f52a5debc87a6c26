package packages

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
)

// A release is the entry of one version of a package in npm's registry.
type release struct {
	Version    string          `json:"version"`
	Engines    json.RawMessage `json:"engines"` // an object; old packages have lists
	OS         words           `json:"os"`
	CPU        words           `json:"cpu"`
	Libc       words           `json:"libc"`
	Deprecated json.RawMessage `json:"deprecated"` // a text, or false
	Latest     string          `json:"dist-tags.latest"`
}

// words is a JSON list of strings, or one string.
type words []string

// UnmarshalJSON never fails: a value of another type restricts nothing.
func (w *words) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*w = words{one}
		return nil
	}
	var all []string
	_ = json.Unmarshal(b, &all) // leave it empty otherwise
	*w = all
	return nil
}

// A machine is what packages have requirements for.
type machine struct{ node, npm, os, cpu, libc string }

// unfit returns the reason a release does not run on m, by the rules of npm, or "".
func (r release) unfit(m machine) string {
	var engines map[string]string
	_ = json.Unmarshal(r.Engines, &engines) // like npm, ignore other types
	if want := engines["node"]; want != "" && !inRange(m.node, want) {
		return fmt.Sprintf("needs Node.js %s, this is %s", want, m.node)
	}
	if want := engines["npm"]; want != "" && m.npm != "" && !inRange(m.npm, want) {
		return fmt.Sprintf("needs npm %s, this is %s", want, m.npm)
	}
	for _, c := range []struct {
		list       words
		what, have string
	}{{r.OS, "system", m.os}, {r.CPU, "processor", m.cpu}, {r.Libc, "C library", m.libc}} {
		if len(c.list) > 0 && !c.list.allow(c.have) {
			return fmt.Sprintf("is for the %s %s, this is %s", c.what, strings.Join(c.list, ", "), c.have)
		}
	}
	return ""
}

// allow reports whether a list of words and "!words" allows have.
func (w words) allow(have string) bool {
	if len(w) == 1 && w[0] == "any" {
		return true
	}
	if slices.Contains(w, "!"+have) {
		return false
	}
	return slices.Contains(w, have) || !slices.ContainsFunc(w, func(x string) bool { return !strings.HasPrefix(x, "!") })
}

// deprecated reports whether the author has deprecated r.
func (r release) deprecated() bool {
	return len(r.Deprecated) > 0 && string(r.Deprecated) != "false" && string(r.Deprecated) != `""`
}

var (
	plainVersion = lazyregexp.New(`^v?(\d{1,9})\.(\d{1,9})\.(\d{1,9})(-[0-9A-Za-z.-]+)?`)
	comparator   = lazyregexp.New(`(\^|~>?|[<>]=?|=)?\s*v?(\d{1,9}|[xX*])(?:\.(\d{1,9}|[xX*]))?(?:\.(\d{1,9}|[xX*]))?(-[0-9A-Za-z.-]+)?(?:\+\S*)?`)
	hyphens      = lazyregexp.New(`(\S+)\s+-\s+(\S+)`)
)

// number combines major, minor and patch of a version into a number for comparisons.
func number(version string) (n [3]uint64, ok bool) {
	m := plainVersion.FindStringSubmatch(version)
	if m == nil {
		return n, false
	}
	for i := range n {
		n[i], _ = strconv.ParseUint(m[i+1], 10, 64) // matched as digits
	}
	return n, true
}

// older reports whether version a is older than b. A pre-release is older than its
// release.
func older(a, b string) bool {
	x, _ := number(a)
	y, _ := number(b)
	if c := slices.Compare(x[:], y[:]); c != 0 {
		return c < 0
	}
	return strings.Contains(a, "-") && !strings.Contains(b, "-")
}

// inRange reports whether version is in an npm range, such as "^20.10 || >=22". An
// invalid range contains nothing.
func inRange(version, text string) bool {
	v, ok := number(version)
	if !ok {
		return false
	}
	for part := range strings.SplitSeq(text, "||") {
		part = strings.TrimSpace(hyphens.ReplaceAllString(part, ">=$1 <=$2"))
		rest := strings.TrimSpace(comparator.ReplaceAllString(part, ""))
		if rest != "" && rest != "," {
			continue
		}
		if part == "" || !slices.ContainsFunc(comparator.FindAllString(part, -1), func(c string) bool { return !holds(v, c) }) {
			return true
		}
	}
	return false
}

// holds reports whether v satisfies one comparator.
func holds(v [3]uint64, text string) bool {
	m := comparator.FindStringSubmatch(text)
	var from [3]uint64
	given := 0
	for ; given < 3; given++ {
		n, err := strconv.ParseUint(m[given+2], 10, 64)
		if err != nil {
			break // absent, or an x
		}
		from[given] = n
	}
	// next returns the smallest number above all versions that begin with the written
	// digits.
	next := func(digits int) [3]uint64 {
		n := [3]uint64{}
		copy(n[:], from[:digits])
		n[digits-1]++
		return n
	}
	less := func(a, b [3]uint64) bool { return slices.Compare(a[:], b[:]) < 0 }
	if given == 0 {
		return m[1] != "<" && m[1] != ">"
	}
	switch m[1] {
	case ">=":
		return !less(v, from)
	case ">":
		return !less(v, next(given))
	case "<":
		return less(v, from)
	case "<=":
		return less(v, next(given))
	case "^":
		digits := 1
		for digits < given && from[digits-1] == 0 {
			digits++
		}
		return !less(v, from) && less(v, next(digits))
	case "~", "~>":
		return !less(v, from) && less(v, next(min(given, 2)))
	}
	return !less(v, from) && less(v, next(given))
}
