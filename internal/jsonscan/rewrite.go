package jsonscan

// A Literal is a string in a text that Rewrite visits.
type Literal struct {
	Text []byte // raw, with the quotes
	Key  bool   // it is the name of a member
	// Of is the content of the name of the member whose value the string is; nil for names and for
	// elements of arrays.
	Of []byte
}

// Rewrite returns text with each string, including names of members, replaced by the literal that
// replace returns, or unchanged if that is nil. If text is not JSON, it returns nil and false.
func Rewrite(text []byte, replace func(Literal) []byte) (out []byte, ok bool) {
	r := rewriter{s: New(text), replace: replace}
	r.value(nil)
	if !r.s.End() {
		return nil, false
	}
	if r.done == 0 {
		return text, true
	}
	return append(r.out, text[r.done:]...), true
}

type rewriter struct {
	s       Scanner[[]byte]
	replace func(Literal) []byte
	out     []byte
	done    int // text[:done] is in out
}

func (r *rewriter) value(of []byte) {
	switch s := &r.s; s.Kind() {
	case '{':
		for s.Enter('{'); s.More('}'); {
			start := s.Pos()
			if key := s.Key(); !s.Broken() {
				r.literal(start, Literal{Text: key, Key: true})
				r.value(Unquote(key))
			}
		}
	case '[':
		for s.Enter('['); s.More(']'); {
			r.value(nil)
		}
	case '"':
		start := s.Pos()
		if text := s.Skip(); !s.Broken() {
			r.literal(start, Literal{Text: text, Of: of})
		}
	default:
		s.Skip()
	}
}

func (r *rewriter) literal(start int, l Literal) {
	if changed := r.replace(l); changed != nil {
		r.out = append(append(r.out, r.s.text[r.done:start]...), changed...)
		r.done = start + len(l.Text)
	}
}
