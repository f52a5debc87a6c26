//go:build !linux && !darwin

package main

import "context"

// anyKey returns a nil channel: this platform reads no keys.
func (a *app) anyKey(context.Context) (pressed <-chan struct{}, release func()) {
	return nil, func() {}
}
