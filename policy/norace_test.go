//go:build !race

package policy_test

// raceDetector reports whether the tests run with it: it allocates by itself.
const raceDetector = false
