//go:build !linux

package main

import (
	"context"
	"errors"
)

type fleetOf struct{}

type usage struct{ broker, postgres, client float64 }

type caller struct{}

var errLinux = errors.New("this needs Linux")

func startBrokers(context.Context, string, string, int) (*fleetOf, error) { return nil, errLinux }
func (*fleetOf) stop()                                                    {}
func (*fleetOf) usage() (usage, error)                                    { return usage{}, errLinux }
func (*fleetOf) client(int) *caller                                       { return nil }
func (*caller) execute(context.Context, string) error                     { return errLinux }
