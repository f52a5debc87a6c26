package learned

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

// A hasher computes the keyed hashes of data that must not be stored.
type hasher []byte

func (h hasher) sum(s []byte) string {
	m := hmac.New(sha256.New, h)
	m.Write(s)
	return hex.EncodeToString(m.Sum(nil)[:8])
}

// A merger adds the sample of one call.
type merger struct {
	hash  hasher
	args  digest // of the call's arguments
	query bool   // the arguments contain a query, on which the keys may depend
	inner bool   // below the root of the result
}

// maxVaried is the number of calls with differing keys that an object may have before
// it counts as a map. A new version of a server may cause one.
const maxVaried = 2

func (m merger) merge(n *node, s *sample) {
	n.add(s.tally)
	inner := m
	inner.inner = true
	if s.elem != nil {
		if n.Elem == nil {
			n.Elem = &node{}
		}
		inner.merge(n.Elem, s.elem)
	}
	if s.object != nil {
		if n.Object == nil {
			n.Object = &object{}
		}
		m.object(n.Object, s.object)
	}
}

func (m merger) object(o *object, s *sampleObject) {
	if o.Values == nil && !isBlock(s) && m.varies(o, s) {
		if o.Varied++; o.Varied >= maxVaried || m.query && m.inner {
			o.toMap()
		}
	}
	o.N += s.n
	o.Calls++
	m.inner = true
	if o.Values == nil && isMap(s) {
		o.toMap()
	}
	block := isBlock(s)
	for i, name := range s.keys {
		member := s.members[name]
		if o.Values != nil {
			m.merge(o.Values, &member.sample)
			continue
		}
		if f := o.field(name); f != nil {
			f.N += member.n
			m.merge(&f.node, &member.sample)
			continue
		}
		if block {
			f := &field{Name: name, N: member.n}
			o.Fields = append(o.Fields, f)
			m.merge(&f.node, &member.sample)
			continue
		}
		m.pending(o, name, i, member)
	}
	if o.Values == nil && len(o.Fields)+len(o.Pending) > maxKeys {
		o.toMap()
	}
}

// varies reports whether the keys of o change from call to call, as those of a map do: the
// objects of a call have a new key and lack one that all earlier calls had, or share no key
// with earlier calls. An object that only gains or only loses a field does not vary.
func (m merger) varies(o *object, s *sampleObject) bool {
	if o.Calls == 0 || s.more {
		return false
	}
	hashes := make(map[string]bool, len(s.keys))
	fresh, known := false, false
	for _, name := range s.keys {
		if o.field(name) != nil {
			known = true
			continue
		}
		h := m.hash.sum([]byte(name))
		hashes[h] = true
		fresh, known = fresh || o.Pending[h] == nil, known || o.Pending[h] != nil
	}
	if !fresh || !known {
		return fresh && len(o.Fields)+len(o.Pending) > 0
	}
	for _, f := range o.Fields {
		if f.N >= o.N && s.members[f.Name] == nil {
			return true
		}
	}
	for h, p := range o.Pending {
		if p.N >= o.N && !hashes[h] {
			return true
		}
	}
	return false
}

// pending adds an unknown key, and confirms it if this call has other arguments than the earlier
// one with the key.
func (m merger) pending(o *object, name string, order int, member *sampleMember) {
	h, args := m.hash.sum([]byte(name)), m.hash.sum(m.args[:])
	p := o.Pending[h]
	if p == nil {
		if o.Pending == nil {
			o.Pending = map[string]*pending{}
		}
		p = &pending{Args: args, Order: order}
		o.Pending[h] = p
	}
	p.N += member.n
	m.merge(&p.node, &member.sample)
	if p.Args == args {
		return
	}
	delete(o.Pending, h)
	o.Fields = append(o.Fields, &field{Name: name, N: p.N, node: p.node})
}

// isMap reports whether the keys of an object are data.
func isMap(s *sampleObject) bool {
	return s.more || len(s.keys) > maxKeys || slices.ContainsFunc(s.keys, func(k string) bool { return !isFieldName(k) })
}

// blockKeys are the keys of the texts, images and files in the content of a result.
var blockKeys = []string{"type", "text", "mimeType", "uri", "size", "ref", "resource", "name", "title", "description", "annotations", "_meta"}

// isBlock reports whether every object is such a block: its keys are never data.
func isBlock(s *sampleObject) bool {
	kind := s.members["type"]
	return kind != nil && kind.n == s.n && (s.members["text"] != nil || s.members["mimeType"] != nil || s.members["uri"] != nil) &&
		!slices.ContainsFunc(s.keys, func(k string) bool { return !slices.Contains(blockKeys, k) })
}

// toMap drops the keys and merges their values.
func (o *object) toMap() {
	o.Values = o.common()
	o.Fields, o.Pending = nil, nil
}

// common merges the values of all keys.
func (o *object) common() *node {
	all := &node{}
	for _, f := range o.Fields {
		all.join(&f.node)
	}
	for _, p := range o.pendings() {
		all.join(&p.node)
	}
	return all
}

// pendings returns the pending keys in a stable order.
func (o *object) pendings() []*pending {
	type keyed struct {
		hash string
		p    *pending
	}
	var list []keyed
	for h, p := range o.Pending {
		list = append(list, keyed{h, p})
	}
	slices.SortFunc(list, func(a, b keyed) int {
		return cmp.Or(cmp.Compare(a.p.Order, b.p.Order), cmp.Compare(a.hash, b.hash))
	})
	out := make([]*pending, len(list))
	for i, k := range list {
		out[i] = k.p
	}
	return out
}

// join merges the values of another location. Keys stay pending only if they are pending at both.
func (n *node) join(m *node) {
	n.add(m.tally)
	if m.Elem != nil {
		if n.Elem == nil {
			n.Elem = &node{}
		}
		n.Elem.join(m.Elem)
	}
	if m.Object != nil {
		if n.Object == nil {
			n.Object = &object{}
		}
		n.Object.join(m.Object)
	}
}

func (o *object) join(p *object) {
	o.N += p.N
	o.Calls = max(o.Calls, p.Calls)
	o.Varied = max(o.Varied, p.Varied)
	if o.Values != nil || p.Values != nil {
		if o.Values == nil {
			o.toMap()
		}
		o.Values.join(p.valueNode())
		return
	}
	for _, f := range p.Fields {
		to := o.field(f.Name)
		if to == nil {
			to = &field{Name: f.Name}
			o.Fields = append(o.Fields, to)
		}
		to.N += f.N
		to.node.join(&f.node)
	}
	for h, q := range p.Pending {
		to := o.Pending[h]
		if to == nil {
			if o.Pending == nil {
				o.Pending = map[string]*pending{}
			}
			to = &pending{Args: q.Args, Order: q.Order}
			o.Pending[h] = to
		}
		to.N += q.N
		to.node.join(&q.node)
	}
	if len(o.Fields)+len(o.Pending) > maxKeys {
		o.toMap()
	}
}

// valueNode merges the values of an object, whether or not it is a map.
func (o *object) valueNode() *node {
	if o.Values != nil {
		return o.Values
	}
	return o.common()
}
