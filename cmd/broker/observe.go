package main

import (
	"cmp"
	"errors"
	"os"

	"github.com/mcpbroker/mcpbroker/internal/app/observe"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/telemetry"
)

// observed is the telemetry of a session, or nil; s need not be complete yet.
func (a *app) observed(cfg *config.Config, s *App) (*telemetry.Telemetry, error) {
	a.metrics = cmp.Or(a.metrics, cfg.Broker.Metrics)
	seen, err := observe.New(observe.Options{
		Config: cfg.Broker.Telemetry, Page: a.metrics != "", Getenv: os.Getenv, Version: version, Logger: a.logger(),
		Sources: func() *observe.Sources {
			if s.Root == nil {
				return nil
			}
			queue, _ := s.Runner.(observe.Queue)
			return &observe.Sources{Broker: s.Root, Audit: s.Audit, Queue: queue, Runs: s.Runs, Pins: s.Pins,
				Spool: func() []telemetry.Gauge { return s.State.SpoolGauges(s.Audit) }}
		},
	})
	if wrong, ok := errors.AsType[*observe.EndpointError](err); ok {
		return nil, cli.Usagef("%w\nhint: such as http://localhost:4318, where it speaks OTLP over HTTP", wrong)
	}
	return seen, err
}

// serveMetrics answers Prometheus until stop is called. If another broker uses the
// address, it does nothing.
func (a *app) serveMetrics(s *App) (stop func()) {
	if a.metrics == "" {
		return func() {}
	}
	at, stop, err := observe.Serve(a.metrics, s.Telemetry)
	if err != nil {
		cli.Fprintf(a.Err, "broker: no metrics: %v\n", err)
		return func() {}
	}
	cli.Fprintf(a.Err, "broker: metrics at http://%s/metrics\n", at)
	return stop
}
