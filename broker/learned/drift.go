package learned

import (
	"fmt"

	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// maxDrifts bounds the reported differences of one result.
const maxDrifts = 5

// drift compares a result with the common shape of all earlier results: a key that was always
// present and is missing, a value of another kind. Null has no kind.
func drift(n *node, s *sample, m merger) []string {
	d := &differ{merger: m}
	d.compare("", n, s)
	return d.found
}

type differ struct {
	merger
	found []string
}

func (d *differ) add(format string, args ...any) {
	if len(d.found) < maxDrifts {
		d.found = append(d.found, fmt.Sprintf(format, args...))
	}
}

// compare adds the differences at path and below.
func (d *differ) compare(path string, n *node, s *sample) {
	if was, ok := n.onlyKind(); ok && n.seen() >= minDriftCalls {
		if now, ok := s.other(was); ok {
			d.add("%s was always %s and is %s now", location(path), article(was), article(now))
			return
		}
	}
	if n.Elem != nil && s.elem != nil {
		d.compare(path+"[]", n.Elem, s.elem)
	}
	if n.Object != nil && s.object != nil && n.Object.Calls >= minDriftCalls && n.Object.Values == nil {
		d.object(path, n.Object, s.object)
	}
}

func (d *differ) object(path string, o *object, s *sampleObject) {
	varied := o.Varied > 0 || d.query && d.varies(o, s)
	for _, f := range o.Fields {
		if varied && s.members[f.Name] == nil {
			continue // the keys depend on the query
		}
		at := f.Name
		if path != "" {
			at = path + "." + f.Name
		}
		m := s.members[f.Name]
		switch {
		case f.N < o.N: // it was not always present
		case m == nil && s.more: // not all keys were recorded
		case m == nil:
			d.add("%s was there in all %d calls before and is missing now", gate.Name(at), o.Calls)
		case m.n < s.n && !s.more:
			d.add("%s was there in all %d calls before and is missing in %d of %d places now", gate.Name(at), o.Calls, s.n-m.n, s.n)
		}
		if m != nil {
			d.compare(at, &f.node, &m.sample)
		}
	}
}

// seen returns the number of values other than null.
func (n *node) seen() int {
	total := 0
	for k := kindBool; k < kinds; k++ {
		total += n.Kinds[k]
	}
	return total
}

// onlyKind returns the only kind of value that was seen here, apart from null.
func (n *node) onlyKind() (kind, bool) {
	found, ok := kindNull, false
	for k := kindBool; k < kinds; k++ {
		if n.Kinds[k] == 0 {
			continue
		}
		if ok && family(k) != family(found) {
			return 0, false
		}
		found, ok = k, true
	}
	return family(found), ok
}

// other returns a kind of value in s other than k and null.
func (s *sample) other(k kind) (kind, bool) {
	for now := kindBool; now < kinds; now++ {
		if s.Kinds[now] > 0 && family(now) != k {
			return family(now), true
		}
	}
	return 0, false
}

// family returns k, with integers as numbers.
func family(k kind) kind {
	if k == kindInteger {
		return kindNumber
	}
	return k
}

func article(k kind) string {
	if k == kindArray || k == kindObject {
		return "an " + kindNames[k]
	}
	return "a " + kindNames[k]
}

func location(path string) string {
	if path == "" {
		return "the result"
	}
	return gate.Name(path)
}
