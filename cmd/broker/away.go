package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/telemetry"
	"github.com/mcpbroker/mcpbroker/policy"
)

var errDatabaseAway = errors.New("the broker's database cannot be reached")

// refuse says what does not go on while the database cannot be reached: executions,
// which have no class, where the record is full or the config says so, and calls that
// may change something. It is nil without a database.
func (st *stores) refuse(in record, cfg *config.Config) func(context.Context, policy.Class) error {
	if st.db == nil {
		return nil
	}
	strict := cfg.Broker.StateFailure == "refuse"
	return func(ctx context.Context, class policy.Class) error {
		if err := in.Full(); err != nil {
			return err
		}
		if class == 0 && strict {
			if err := in.Reached(ctx); err != nil {
				return fmt.Errorf("%w, and \"stateFailure\" of the config is \"refuse\"", errDatabaseAway)
			}
		}
		// Not every call belongs to an execution that could be refused.
		_, _, away := in.Spool()
		switch {
		case away && strict:
			return errDatabaseAway
		case away && class > policy.Read && !isBack(ctx, in):
			return fmt.Errorf("%w: until it is back, only what reads is called", errDatabaseAway)
		}
		return nil
	}
}

// failover is how long a call that may change something waits for a database that is
// away: a standby is promoted sooner, as a rule.
const failover = 5 * time.Second

// isBack reports whether the database can be reached again before too long.
func isBack(ctx context.Context, in record) bool {
	ctx, cancel := context.WithTimeout(ctx, failover)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, _, away := in.Spool(); !away {
			return true
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
}

// takesMore reports whether executions are not refused at this moment: another broker
// may reach the database.
func (s *session) takesMore() bool {
	if s.stores.db == nil {
		return true
	}
	_, _, away := s.audit.Spool()
	return s.audit.Full() == nil && !(away && s.live.Load().Broker.StateFailure == "refuse")
}

// spoolGauges are about what waits for the database; none without one.
func (s *session) spoolGauges() []telemetry.Gauge {
	if s.stores.db == nil {
		return nil
	}
	rows, bytes, _ := s.audit.Spool()
	return []telemetry.Gauge{{Name: "broker_audit_spool_rows", Value: float64(rows)}, {Name: "broker_audit_spool_bytes", Value: float64(bytes)}}
}
