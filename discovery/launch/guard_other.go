//go:build !linux

package launch

import "errors"

// CanGuard is whether there are guards on this system.
const CanGuard = false

// startGuard is for Linux only: elsewhere the environments of processes, in
// which their marks are, cannot be read everywhere.
func startGuard() (*guardProcess, error) { return nil, errors.ErrUnsupported }

// IsGuard is false: there are guards on Linux only.
func IsGuard() bool { return false }

// GuardMain does nothing.
func GuardMain() {}
