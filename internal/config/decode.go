package config

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tailscale/hujson"

	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/nearest"
	"github.com/mcpbroker/mcpbroker/internal/words"
)

// A field reads the value of one key.
type field func(v hujson.Value)

// A schema contains the known keys of an object.
type schema map[string]field

// removed maps keys of earlier versions, below the name of their object, to their replacement.
var removed = map[string]string{
	`"search" of "broker" vectors`: "the search has a table of related words of its own",
}

// object reads the members of v by schema. Unknown keys become notes. where is the name of the
// object in messages. It returns the offset of each key that it read.
func (c *collector) object(v hujson.Value, where string, s schema) map[string]int {
	seen := map[string]int{}
	known := slices.Sorted(maps.Keys(s))
	c.members(v, where, func(name string, key, value hujson.Value) {
		read, canonical := s[name], name
		if read == nil {
			canonical = sameName(name, known)
			if read = s[canonical]; read == nil {
				if why := removed[where+" "+name]; why != "" {
					c.note(key.StartOffset, "%s in %s is ignored: %s", quote(name), where, why)
					return
				}
				c.note(key.StartOffset, "unknown key %s in %s is ignored%s", quote(name), where, didYouMean(name, known))
				return
			}
			// Ignoring "readonly" would leave on what its author took away.
			c.note(key.StartOffset, "%s in %s is read as %q", quote(name), where, canonical)
		}
		if value.Value.Kind() == 'n' { // null is how generated files leave a key out
			return
		}
		if first, ok := seen[canonical]; ok {
			line, _ := c.position(first)
			c.fail(key.StartOffset, "duplicate key %q, first on line %d", canonical, line)
			return
		}
		seen[canonical] = key.StartOffset
		read(value)
	})
	return seen
}

// members calls f for each member of the object v. Other values and duplicate keys are
// mistakes.
func (c *collector) members(v hujson.Value, where string, f func(name string, key, value hujson.Value)) {
	obj, ok := v.Value.(*hujson.Object)
	if !ok {
		c.wrongType(v, where, "an object, { … }")
		return
	}
	lines := map[string]int{}
	for _, m := range obj.Members {
		name := m.Name.Value.(hujson.Literal).String()
		if first, ok := lines[name]; ok {
			c.fail(m.Name.StartOffset, "duplicate key %s in %s, first on line %d", quote(name), where, first)
			continue
		}
		lines[name], _ = c.position(m.Name.StartOffset)
		f(name, m.Name, m.Value)
	}
}

// sameName returns the known name that differs from name in case and
// separators only, or nothing.
func sameName(name string, known []string) string {
	for _, k := range nearest.Names(name, known, 1) {
		if strings.EqualFold(strings.NewReplacer("-", "", "_", "").Replace(name), k) {
			return k
		}
	}
	return ""
}

func (c *collector) wrongType(v hujson.Value, where, want string) {
	kinds := map[hujson.Kind]string{'n': "null", 't': "true", 'f': "false", '"': "a string", '0': "a number", '{': "an object", '[': "a list"}
	c.fail(v.StartOffset, "%s must be %s, not %s", where, want, kinds[v.Value.Kind()])
}

func (c *collector) text(where string, to *string) field {
	return func(v hujson.Value) {
		if v.Value.Kind() != '"' {
			c.wrongType(v, where, "a string")
			return
		}
		*to = v.Value.(hujson.Literal).String()
	}
}

// refText reads a string that may contain references, and checks their syntax. It accepts numbers
// and booleans, as in "PORT": 3000.
func (c *collector) refText(where string, to *string) field {
	return func(v hujson.Value) {
		lit, ok := v.Value.(hujson.Literal)
		if !ok || lit.Kind() == 'n' {
			c.wrongType(v, where, "a string")
			return
		}
		s := lit.String()
		if strings.ContainsRune(s, 0) {
			c.fail(v.StartOffset, "%s has a NUL character, which no program or server can be given", where)
			return
		}
		if bad := checkRefs(s); bad != nil {
			off := v.StartOffset
			// Without escapes, offsets in the string are offsets in the file.
			if !strings.Contains(string(lit), `\`) {
				off += 1 + bad.off
			}
			c.fail(off, "%s: %s", where, bad.text)
			return
		}
		if secret := secretRef(s); secret != "" && c.ofProject {
			c.fail(v.StartOffset, "%s: a project cannot have %s: secrets are for your own config; write ${VAR} and set the variable", where, clean(secret))
			return
		}
		if names := personNames(s); len(names) > 0 && !c.personal {
			c.fail(v.StartOffset, "%s: ${person:%s} can only be in \"env\" and \"headers\" of a server", where, names[0])
			return
		}
		*to = s
	}
}

func (c *collector) boolean(where string, to *bool) field {
	return func(v hujson.Value) {
		switch v.Value.Kind() {
		case 't', 'f':
			*to = v.Value.Kind() == 't'
		default:
			c.wrongType(v, where, "true or false")
		}
	}
}

func (c *collector) optionalBool(where string, to **bool) field {
	return func(v hujson.Value) {
		b := false
		c.boolean(where, &b)(v)
		*to = &b
	}
}

// list reads a list of strings; a single string is a list of one.
func (c *collector) list(where string, to *[]string, item func(where string, to *string) field) field {
	return func(v hujson.Value) {
		elements := []hujson.Value{v}
		if arr, ok := v.Value.(*hujson.Array); ok {
			elements = arr.Elements
		} else if v.Value.Kind() != '"' {
			c.wrongType(v, where, "a list of strings")
			return
		}
		*to = make([]string, len(elements))
		for i, e := range elements {
			item(where, &(*to)[i])(e)
		}
	}
}

// choice reads one of several words.
func (c *collector) choice(where string, to *string, words ...string) field {
	return func(v hujson.Value) {
		var s string
		c.text(where, &s)(v)
		switch {
		case v.Value.Kind() != '"':
		case slices.Contains(words, s):
			*to = s
		default:
			c.fail(v.StartOffset, "unknown %s %s%s", where, quote(s), hintWords(s, words))
		}
	}
}

// hintWords suggests the nearest word, including others that are accepted but not listed, or lists
// all words.
func hintWords(s string, words []string, others ...string) string {
	if hint := didYouMean(s, slices.Concat(words, others)); hint != "" {
		return hint
	}
	return ": write " + orList(words)
}

// orList lists quoted words, such as "a", "b" or "c".
func orList(list []string) string {
	quoted := make([]string, len(list))
	for i, w := range list {
		quoted[i] = strconv.Quote(w)
	}
	return words.Or(quoted)
}

// count reads an integer from 1 to limit.
func (c *collector) count(where string, to *int, limit int) field {
	return func(v hujson.Value) {
		lit, _ := v.Value.(hujson.Literal)
		if lit.Kind() != '0' {
			c.wrongType(v, where, "a whole number such as 10")
			return
		}
		n, err := strconv.Atoi(string(lit))
		if err != nil || n < 1 || n > limit {
			c.fail(v.StartOffset, "%s is %s: write a whole number from 1 to %d, or leave it out for the default", where, gate.Cut(string(lit), 60), limit)
			return
		}
		*to = n
	}
}

// maxDuration exceeds any sensible wait, and is far from overflow.
const maxDuration = 366 * 24 * time.Hour

// duration reads "30s" or a number of seconds.
func (c *collector) duration(where string, to *time.Duration) field {
	return func(v hujson.Value) {
		lit, _ := v.Value.(hujson.Literal)
		if k := lit.Kind(); k != '0' && k != '"' {
			c.wrongType(v, where, `a duration such as "30s", or a number of seconds`)
			return
		}
		d, ok := parseDuration(lit.String())
		switch {
		case !ok:
			c.fail(v.StartOffset, `%s: %s is not a duration: write "30s", "5m" or a number of seconds`, where, quote(lit.String()))
		case d <= 0:
			c.fail(v.StartOffset, `%s is %s: it must be longer than 0, such as "30s"; leave it out for the default`, where, quote(lit.String()))
		case d > maxDuration:
			c.fail(v.StartOffset, `%s is %s: it can be at most a year, such as "8760h"`, where, quote(lit.String()))
		default:
			*to = d
		}
	}
}

// optionalDuration is like duration, where 0 disables something.
func (c *collector) optionalDuration(where string, to **time.Duration) field {
	return func(v hujson.Value) {
		*to = new(time.Duration)
		lit, _ := v.Value.(hujson.Literal)
		if k := lit.Kind(); k == '0' || k == '"' {
			if d, ok := parseDuration(lit.String()); ok && d == 0 {
				return
			}
		}
		c.duration(where, *to)(v)
	}
}

func parseDuration(s string) (time.Duration, bool) {
	s = strings.TrimSpace(s)
	if seconds, err := strconv.ParseFloat(s, 64); err == nil && !math.IsNaN(seconds) {
		limit := 2 * maxDuration.Seconds() // converting more would overflow
		return time.Duration(min(max(seconds, -limit), limit) * float64(time.Second)), true
	}
	d, err := time.ParseDuration(strings.ReplaceAll(s, " ", ""))
	return d, err == nil
}

// size reads "256MiB" or a number of bytes, within bounds.
func (c *collector) size(where string, to *int64, least, most int64) field {
	return func(v hujson.Value) {
		lit, _ := v.Value.(hujson.Literal)
		if k := lit.Kind(); k != '0' && k != '"' {
			c.wrongType(v, where, `a size such as "256MiB"`)
			return
		}
		n, ok := parseSize(lit.String())
		switch {
		case !ok:
			c.fail(v.StartOffset, `%s: %s is not a size: write "256MiB"`, where, quote(lit.String()))
		case n < least:
			c.fail(v.StartOffset, `%s: %s is too small: it must be at least "%s"`, where, quote(lit.String()), writeSize(least))
		case n > most:
			c.fail(v.StartOffset, `%s: %s is too large: it can be at most "%s"`, where, quote(lit.String()), writeSize(most))
		default:
			*to = n
		}
	}
}

// writeSize formats a size as in a config.
func writeSize(n int64) string {
	for _, u := range []struct {
		bytes int64
		name  string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n%u.bytes == 0 {
			return fmt.Sprintf("%d%s", n/u.bytes, u.name)
		}
	}
	return fmt.Sprint(n)
}

func parseSize(s string) (int64, bool) {
	units := map[string]float64{"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30,
		"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "kb": 1e3, "mb": 1e6, "gb": 1e9}
	digits := strings.TrimRight(strings.ToLower(strings.TrimSpace(s)), "bgikm ")
	unit := strings.TrimSpace(strings.ToLower(strings.TrimSpace(s))[len(digits):])
	n, err := strconv.ParseFloat(digits, 64)
	factor, known := units[unit]
	if err != nil || !known || math.IsNaN(n) || math.Abs(n*factor) > 1<<50 {
		return 0, false
	}
	return int64(n * factor), true
}
