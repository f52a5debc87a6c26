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
// After a mistake it finds no further values. End distinguishes a mistake from the end of the
// text.
type Scanner[T Text] struct {
	text   T
	pos    int
	depth  int
	opened bool // pos follows the opening bracket of an array or object
	broken bool
}

// New returns a scanner of text.
func New[T Text](text T) Scanner[T] { return Scanner[T]{text: text} }

// Pos returns the index of the next value or, after a mistake, of the mistake.
func (s *Scanner[T]) Pos() int { return s.pos }

// Broken reports whether the text read so far is invalid.
func (s *Scanner[T]) Broken() bool { return s.broken }

// Cut reports whether the text is a prefix of JSON, and ends too early.
func (s *Scanner[T]) Cut() bool { return s.broken && s.pos >= len(s.text) }

// End reports whether the text is JSON and was read to its end.
func (s *Scanner[T]) End() bool {
	if s.pos = Space(s.text, s.pos); s.pos < len(s.text) {
		s.broken = true
	}
	return !s.broken && s.depth == 0
}

// Kind returns the first byte of the next value, '0' for a number, or 0 if no value begins there.
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

// Enter enters the next array or object, if open is its opening bracket, and reports whether it
// did. It does not move otherwise; reading on as if it had entered is a mistake.
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

// More reports whether the entered array or object has another element or member, and moves to it.
// Otherwise it moves after the closing bracket end.
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

// Key reads the name of the member that More moved to, and returns its literal, with the quotes,
// or an empty one after a mistake.
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

// Skip moves after the next value, and returns it raw, or an empty one after a mistake.
func (s *Scanner[T]) Skip() (raw T) {
	raw, _ = s.SkipCount()
	return raw
}

// SkipCount is like Skip, and also returns the number of elements of an array or members of an
// object.
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

// Members calls f with the raw name and value of each member of an object, until f returns false.
// It reports whether text is a valid object, as far as it was read.
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

// Elements is like Members, for the elements of an array.
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
