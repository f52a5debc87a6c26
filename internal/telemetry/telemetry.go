// Package telemetry tells collectors what the broker does: the audit record as
// OpenTelemetry logs.
package telemetry
