// Package telemetry tells collectors what the broker does: traces and metrics of
// OpenTelemetry, metrics for Prometheus, and the audit record as OTLP logs.
package telemetry
