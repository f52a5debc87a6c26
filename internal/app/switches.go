package app

import (
	"context"

	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/state"
)

// switches are those of a database. Until they are changed there, a file decides.
type switches struct {
	st   *State
	doc  *state.Document
	file skills.SwitchFile
}

// before returns the switches, in place of a file.
func (s switches) before(file skills.SwitchFile) *switches {
	s.file = file
	return &s
}

// String implements skills.Switchboard.
func (s *switches) String() string { return "the database" }

// used reports whether a broker has used the database.
func (s *switches) used() (bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), lookTime)
	defer cancel()
	return s.st.Prepared(ctx)
}

// Read implements skills.Switchboard.
func (s *switches) Read() ([]byte, error) {
	used, err := s.used()
	if err != nil {
		return nil, err
	}
	if !used {
		return s.file.Read()
	}
	text, err := s.doc.Read()
	if text == nil && err == nil {
		return s.file.Read()
	}
	return text, err
}

// Version implements skills.Switchboard.
func (s *switches) Version() string {
	used, err := s.used()
	if err != nil {
		return err.Error()
	}
	if used {
		if v := s.doc.Version(); v != "" {
			return v
		}
	}
	return s.file.Version()
}

// Edit implements skills.Switchboard.
func (s *switches) Edit(edit func([]byte) ([]byte, error)) error {
	if err := s.st.Prepare(context.Background()); err != nil {
		return err
	}
	return s.doc.Edit(func(text []byte) (_ []byte, err error) {
		if text == nil {
			if text, err = s.file.Read(); err != nil {
				return nil, err
			}
		}
		return edit(text)
	})
}
