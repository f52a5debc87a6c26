package jsonscan

// A Scanner reads a text from its beginning, value by value:
//
//	s := jsonscan.New(text)
//	for s.Enter('{'); s.More('}'); {
//		switch key := s.Key(); {
//		case jsonscan.Is(key, "list") && s.Kind() == '[':
//			for s.Enter('['); s.More(']'); {
//				element := s.Skip()
//			}
//		default:
//			s.Skip()
//		}
//	}
//	if !s.End() { … } // not JSON, or not an object
//
// Once it has met a mistake, it finds no further values. End tells that apart from the
// end of the text.
type Scanner[T Text] struct {
	text   T
	pos    int
	depth  int
	opened bool // pos follows the opening bracket of an array or object
	broken bool
}

// New returns a scanner of text.
func New[T Text](text T) Scanner[T] { return Scanner[T]{text: text} }

// Pos returns the index of what is read next; after a mistake, that of the mistake.
func (s *Scanner[T]) Pos() int { return s.pos }

// Broken reports whether the text is not JSON, as far as it was read.
func (s *Scanner[T]) Broken() bool { return s.broken }

// Cut reports whether the text is the beginning of JSON, and ends too early.
func (s *Scanner[T]) Cut() bool { return s.broken && s.pos >= len(s.text) }

// End reports whether the text is JSON and was read to its end.
func (s *Scanner[T]) End() bool {
	if s.pos = Space(s.text, s.pos); s.pos < len(s.text) {
		s.broken = true
	}
	return !s.broken && s.depth == 0
}

// Kind returns the first byte of the value that is next, '0' if it is a number; or 0 if
// none can begin here.
func (s *Scanner[T]) Kind() byte {
	if s.broken {
		return 0
	}
	if s.pos = Space(s.text, s.pos); s.pos < len(s.text) {
		switch c := s.text[s.pos]; {
		case c == '"', c == '{', c == '[', c == 't', c == 'f', c == 'n':
			return c
		case c == '-', c >= '0' && c <= '9':
			return '0'
		}
	}
	s.broken = true
	return 0
}

// Enter goes into the array or object that is next, if its bracket is open, and reports
// whether it did. Another value stays where it is; reading on as if it were entered is a
// mistake.
func (s *Scanner[T]) Enter(open byte) bool {
	if s.Kind() != open {
		s.broken = true
		return false
	}
	if s.depth++; s.depth > MaxDepth {
		s.broken = true
		return false
	}
	s.pos++
	s.opened = true
	return true
}

// More reports whether the array or object that was entered has another element or
// member, and goes to it. Without one, it goes behind the closing bracket, which is end.
func (s *Scanner[T]) More(end byte) bool {
	if s.broken {
		return false
	}
	if s.pos = Space(s.text, s.pos); s.pos >= len(s.text) {
		s.broken = true
		return false
	}
	c := s.text[s.pos]
	switch {
	case c == end:
		s.pos++
		s.depth--
		s.opened = false
		return false
	case s.opened:
		s.opened = false
		return true
	case c != ',':
		s.broken = true
		return false
	}
	s.pos = Space(s.text, s.pos+1)
	return true
}

// Key reads the name of a member that More went to, and returns its literal, with the
// quotes; an empty one after a mistake.
func (s *Scanner[T]) Key() (literal T) {
	if s.broken || s.pos >= len(s.text) || s.text[s.pos] != '"' {
		s.broken = true
		return literal
	}
	start := s.pos
	end, _, ok := String(s.text, start)
	if s.pos, s.broken = end, !ok; s.broken {
		return literal
	}
	literal = s.text[start:end]
	if end = Space(s.text, end); end < len(s.text) && s.text[end] == ':' {
		s.pos = end + 1
	} else {
		s.pos, s.broken = end, true
	}
	return literal
}

// Skip goes behind the value that is next, and returns it as it is written; an empty one
// after a mistake.
func (s *Scanner[T]) Skip() (raw T) {
	raw, _ = s.SkipCount()
	return raw
}

// SkipCount is like Skip, and returns the number of elements of an array or members of
// an object.
func (s *Scanner[T]) SkipCount() (raw T, items int) {
	if s.broken {
		return raw, 0
	}
	start := Space(s.text, s.pos)
	end, items, ok := value(s.text, start, s.depth)
	s.pos, s.opened = end, false
	if !ok {
		s.broken = true
		return raw, 0
	}
	return s.text[start:end], items
}

// Members calls f with the name and the value of each member of an object, as they are
// written, until f returns false. It reports whether the object, as far as it was read,
// is valid; another value has no members and is not.
func Members[T Text](text T, f func(key, value T) bool) bool {
	s := New(text)
	for s.Enter('{'); s.More('}'); {
		key := s.Key()
		value := s.Skip()
		if s.broken {
			return false
		}
		if !f(key, value) {
			return true
		}
	}
	return s.End()
}

// Elements is Members for the elements of an array.
func Elements[T Text](text T, f func(element T) bool) bool {
	s := New(text)
	for s.Enter('['); s.More(']'); {
		element := s.Skip()
		if s.broken {
			return false
		}
		if !f(element) {
			return true
		}
	}
	return s.End()
}
