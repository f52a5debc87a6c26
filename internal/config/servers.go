package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/nearest"
)

// A ServerFile edits the servers of the configuration file at a path for a user who
// cannot see the file.
type ServerFile string

// Add adds a server. It returns an error if the name is taken or the entry is invalid.
func (f ServerFile) Add(name string, entry Object) error {
	alone, err := AddServer(nil, name, entry)
	if err == nil {
		_, err = Parse("", alone)
	}
	if report, ok := errors.AsType[*Report](err); ok { // positions in an entry that is not in the file are useless
		return errors.New(report.Mistakes[0].Text)
	}
	if err != nil {
		return err
	}
	return f.edit(func(data []byte, cfg *Config) ([]byte, error) {
		if cfg.Server(name) != nil {
			return nil, fmt.Errorf("server %s already exists", quote(name))
		}
		return AddServer(data, name, entry)
	})
}

// Enable enables or disables a server of the file.
func (f ServerFile) Enable(name string, on bool) error {
	return f.edit(func(data []byte, cfg *Config) ([]byte, error) {
		s := cfg.Server(name)
		switch {
		case s == nil:
			return nil, unknownServer(cfg, name)
		case s.Disabled != on: // nothing to change
			return data, nil
		}
		return SetDisabled(data, name, !on)
	})
}

func unknownServer(cfg *Config, name string) error {
	var known []string
	for _, s := range cfg.Servers {
		known = append(known, s.Name)
	}
	hint := "plugins and projects have their own servers: disable the plugin, or change the file of the project"
	if near := nearest.Names(name, known, 1); len(near) > 0 {
		hint = "did you mean " + quote(near[0]) + "?"
	}
	return fmt.Errorf("the config has no server %s; %s", quote(name), hint)
}

// edit changes the text of the file, which must be valid.
func (f ServerFile) edit(change func([]byte, *Config) ([]byte, error)) error {
	var refused error
	err := Edit(string(f), func(data []byte) ([]byte, error) {
		cfg, err := Parse(string(f), data)
		if err != nil {
			return nil, err
		}
		data, refused = change(data, cfg)
		return data, refused
	})
	if report, ok := errors.AsType[*Report](err); ok { // not everybody who may change servers may know the path
		return fmt.Errorf("the config is invalid and was not changed: line %d: %s", report.Mistakes[0].Line, report.Mistakes[0].Text)
	}
	if refused != nil { // which needs no "edit"
		return refused
	}
	return err
}

// EntryOf returns the entry of a server in a file: its non-empty fields in the usual
// order, with the names in env and headers sorted.
func EntryOf(s Server) Object {
	var o Object
	add := func(key string, value any, there bool) {
		if there {
			o = append(o, Field{Key: key, Value: value})
		}
	}
	add("description", s.Description, strings.TrimSpace(s.Description) != "")
	add("type", s.Type, s.Type != "")
	add("command", s.Command, s.Command != "")
	add("args", s.Args, len(s.Args) > 0)
	add("url", s.URL, s.URL != "")
	add("env", texts(s.Env), len(s.Env) > 0)
	add("headers", texts(s.Headers), len(s.Headers) > 0)
	add("disabled", true, s.Disabled)
	return o
}

// texts returns m as an object, sorted by key.
func texts(m map[string]string) Object {
	o := Object{}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		o = append(o, Field{Key: key, Value: m[key]})
	}
	return o
}
