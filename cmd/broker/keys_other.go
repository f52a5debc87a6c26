//go:build !linux && !darwin

package main

import "context"

// anyKey returns nothing: no key is read here.
func (a *app) anyKey(context.Context) (pressed <-chan struct{}, release func()) {
	return nil, func() {}
}
