// Package selftest runs hostile scripts in the sandboxes of this machine and reports which
// of them were contained, and tries the images of containers.
package selftest
