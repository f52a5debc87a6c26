// Package records shows on a terminal what a broker has recorded: executions with their
// calls, days, runs that wait, the lines of tail, and whether the record was changed.
package records
