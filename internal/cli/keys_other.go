//go:build !linux && !darwin

package cli

import "context"

// anyKey returns a nil channel: this platform reads no keys.
func (t *IO) anyKey(context.Context) (pressed <-chan struct{}, release func()) {
	return nil, func() {}
}
