package mcpbroker_test

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// ownClient finds code that reaches out by itself.
var ownClient = regexp.MustCompile(`http\.(DefaultClient|DefaultTransport|Get|Head|Post|PostForm)\b|\bhttp\.(Client|Transport)\{|new\(http\.(Client|Transport)\)|\bnet\.(Dial|DialTimeout|Dialer)\b|oauth2\.HTTPClient`)

// Whatever goes out goes through internal/outbound, with its limits.
func TestOutgoingRequestsHaveOneDoor(t *testing.T) {
	free := []string{
		"internal/outbound", "internal/fakeauth", "internal/fakeupstream", "internal/pipes",
		"sandbox/attack", "sandbox/worker", "sandbox/docker", "internal/daemon", // tries of attacks, and sockets of this machine
		"tools/fleetsim",    // brokers that it has started; no part of the broker
		"sandbox/remote",    // sandboxd that the config names, in nearer networks
		"internal/replicas", // streams of any length, to who shows a certificate that is in the database
	}
	eachSource(t, func(dir string) bool {
		base := path.Base(dir)
		return base == "testdata" || base == "examples" || slices.Contains(free, dir)
	}, func(name, line string, n int) {
		if found := ownClient.FindString(line); found != "" {
			t.Errorf("%s:%d uses %s: take a client of internal/outbound", name, n, found)
		}
	})
}

// eachSource calls f with the lines of all Go files except tests, outside folders for
// which skip returns true.
func eachSource(t *testing.T, skip func(dir string) bool, f func(name, line string, n int)) {
	t.Helper()
	tree := os.DirFS(".")
	seen := 0
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (path.Base(name)[0] == '.' || skip(name)):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		src, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		seen++
		n := 0
		for line := range strings.Lines(string(src)) {
			n++
			f(name, strings.TrimSuffix(line, "\n"), n)
		}
		return nil
	})
	if err != nil || seen < 100 {
		t.Errorf("%d files were read: %v", seen, err)
	}
}
