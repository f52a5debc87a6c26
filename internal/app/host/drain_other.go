//go:build !linux

package host

import "net"

// refuse reports that a listener cannot ignore connections here.
func refuse(net.Listener) bool { return false }
