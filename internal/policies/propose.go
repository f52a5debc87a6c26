package policies

import (
	"context"
	"fmt"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/state"
)

// CountCalls counts the calls that were made, by tool id.
func CountCalls(ctx context.Context, record state.AuditStore, catalog *discovery.Catalog, since time.Time) (map[string]int, error) {
	calls := make(map[string]int)
	err := record.Export(ctx, func(_ state.Execution, list []state.Call) error {
		for _, c := range list {
			if c.Server != "" && c.Status == "ok" && !c.Started.Before(since) {
				calls[toolFor(catalog, c.Server, c.Tool, c.ID).ID]++
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the record: %w", err)
	}
	return calls, nil
}
