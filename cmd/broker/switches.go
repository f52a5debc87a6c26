package main

import (
	"path/filepath"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/state"
)

// switchesOf are the switches of a config: a file beside it, or a document of the
// database that its brokers share.
func (a *app) switchesOf(cfg *config.Config) skills.Switchboard {
	file := skills.SwitchFile(cfg.Resolve(strings.TrimSuffix(filepath.Base(cfg.Path), filepath.Ext(cfg.Path)) + ".state.json"))
	if cfg.Broker.State == "" {
		return file
	}
	return &sharedSwitches{file: file, open: func(write bool) (*state.Document, error) { return a.switchDocument(cfg, write) }}
}

// switchDocument returns the document of a config's database. It returns the same one
// until the command ends. Reading creates no tables; the document is nil for a database
// that no broker has used yet.
func (a *app) switchDocument(cfg *config.Config, write bool) (*state.Document, error) {
	dir, err := a.stateOf(cfg.Path)
	if err != nil {
		return nil, err
	}
	if write {
		st, err := a.kept(cfg, dir)
		if err != nil {
			return nil, err
		}
		return st.switches, nil
	}
	st, err := a.connected(cfg, dir)
	if err != nil {
		return nil, err
	}
	used, err := st.used()
	if err != nil || !used {
		return nil, err
	}
	return st.switches, nil
}

// sharedSwitches are those of a database. Until somebody switches something there,
// they are what the file says.
type sharedSwitches struct {
	file skills.SwitchFile
	open func(write bool) (*state.Document, error)
}

// String implements skills.Switchboard.
func (s *sharedSwitches) String() string { return "the database" }

// Read implements skills.Switchboard.
func (s *sharedSwitches) Read() ([]byte, error) {
	doc, err := s.open(false)
	if err != nil {
		return nil, err
	}
	if doc == nil {
		return s.file.Read()
	}
	text, err := doc.Read()
	if text == nil && err == nil {
		return s.file.Read()
	}
	return text, err
}

// Version implements skills.Switchboard.
func (s *sharedSwitches) Version() string {
	doc, err := s.open(false)
	if err != nil {
		return err.Error()
	}
	if doc == nil {
		return s.file.Version()
	}
	if v := doc.Version(); v != "" {
		return v
	}
	return s.file.Version()
}

// Edit implements skills.Switchboard.
func (s *sharedSwitches) Edit(edit func([]byte) ([]byte, error)) error {
	doc, err := s.open(true)
	if err != nil {
		return err
	}
	return doc.Edit(func(text []byte) ([]byte, error) {
		if text == nil {
			if text, err = s.file.Read(); err != nil {
				return nil, err
			}
		}
		return edit(text)
	})
}
