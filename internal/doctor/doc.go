// Package doctor finds out what is wrong with a config, its state, the sandbox and the
// servers, and prints each check as it is known.
package doctor
