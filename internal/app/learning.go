package app

import (
	"errors"
	"log/slog"

	"github.com/mcpbroker/mcpbroker/broker/learned"
	"github.com/mcpbroker/mcpbroker/broker/usage"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/state"
)

// learning is what learns from the record.
type learning struct {
	types *learned.Store
	uses  *usage.Store
}

// newLearning returns what learns from the record of a config. What people search for is
// recorded only if their scripts are.
func newLearning(record state.AuditStore, cfg *config.Config, log *slog.Logger) learning {
	o := &usage.Options{History: record, Logger: log}
	if *cfg.Broker.WithDefaults().Audit.Code {
		o.Journal = record
	}
	return learning{learned.New(record, log), usage.New(o)}
}

func (l learning) close() error { return errors.Join(l.types.Close(), l.uses.Close()) }
