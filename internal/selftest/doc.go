// Package selftest shows on a terminal which hostile scripts the sandboxes of this machine
// have contained, and tries the images of containers.
package selftest
