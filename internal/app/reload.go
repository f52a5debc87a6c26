package app

import (
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/words"
	"github.com/mcpbroker/mcpbroker/skills/library"
)

// An UnreadError means that the servers of plugins cannot be read at the moment.
type UnreadError struct{ error }

// Unwrap returns the cause.
func (e *UnreadError) Unwrap() error { return e.error }

// Reload reads the config file and puts it in force. After an *UnreadError, nothing has
// changed. If the file is wrong, the config before it stays in force, and models are
// notified.
func (s *App) Reload() (*config.Config, error) {
	o := &s.options
	cfg, err := o.LoadFile(s.Config.Path)
	var written config.Broker
	if err == nil {
		written = cfg.Broker
		keepState(cfg, s.Config)
		o.overrule(cfg)
		merged, unread := WithPlugins(s.Home(cfg))
		if unread != nil {
			return nil, &UnreadError{unread}
		}
		cfg = s.Project.Join(merged)
		err = runnable(cfg, s.Placement)
	}
	if err != nil {
		o.printLines(errorText(err))
		o.Print("broker: the config is wrong; the one before it stays in force")
		s.Root.SetNotice("the config file was changed and is wrong, so the one before it is in force: " + words.Line(err.Error(), 300))
		return nil, err
	}
	for _, n := range cfg.Notes {
		o.Print(n)
	}
	s.Pins.SetMode(o.pinMode(cfg))
	s.quotas.Set(quotaRules(cfg))
	s.live.Store(cfg)
	s.Root.Apply(o.Settings(s.Home(cfg), o.Logger))
	s.SetNotice()
	s.Audit.Note(configEvent(cfg, o.ManagedPath))
	o.Print("broker: the config, or a plugin, has changed and is in force" + notInForce(s.Config.Broker, written))
	return cfg, nil
}

// errorText returns the text of an error: one line, unless the lines are the broker's own.
func errorText(err error) string {
	switch err.(type) {
	case *Error, *config.Report:
		return err.Error()
	}
	return gate.Terminal(err.Error())
}

// keepState replaces the state of cfg by that of started: a reload cannot change the
// database.
func keepState(cfg, started *config.Config) {
	cfg.Broker.State, cfg.Broker.StateKey, cfg.Broker.Objects = started.Broker.State, started.Broker.StateKey, started.Broker.Objects
}

// notInForce says which settings differ from those that the broker was started with and
// are in force only when it is started again.
func notInForce(started, now config.Broker) string {
	keys := started.NeedRestart(now)
	if len(keys) == 0 {
		return ""
	}
	return ", but for " + strings.Join(keys, ", ") + ": start the broker again for them"
}

// Manager returns what manages the skills and plugins of a config in force, with those of
// servers. It records changes.
func (s *App) Manager(cfg *config.Config) *library.Library {
	h := s.Home(cfg)
	h.Found = s.Root.Skills()
	return h.Library(func(c library.Change) { s.Audit.Note(ChangeEvent(c, ClientAdmin)) })
}
