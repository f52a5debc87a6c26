package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/telemetry"
	"github.com/mcpbroker/mcpbroker/policy"
	"github.com/mcpbroker/mcpbroker/state"
)

var errDatabaseAway = errors.New("the broker's database cannot be reached")

// Refuse returns what refuses executions, which have no class, and calls that may change
// something, while the database cannot be reached: executions if the record is full, or
// if strict is set. It returns nil if there is no database.
func (st *State) Refuse(in state.AuditStore, strict bool) func(context.Context, policy.Class) error {
	if !st.Spools {
		return nil
	}
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
func isBack(ctx context.Context, in state.AuditStore) bool {
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

// TakesMore reports whether executions are not refused at this moment: another broker
// may reach the database.
func TakesMore(in state.AuditStore, strict bool) bool {
	_, _, away := in.Spool()
	return in.Full() == nil && !(away && strict)
}

// SpoolGauges returns the size of what waits for the database, if there is one.
func (st *State) SpoolGauges(in state.AuditStore) []telemetry.Gauge {
	if !st.Spools {
		return nil
	}
	rows, bytes, _ := in.Spool()
	return []telemetry.Gauge{{Name: "broker_audit_spool_rows", Value: float64(rows)}, {Name: "broker_audit_spool_bytes", Value: float64(bytes)}}
}
