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
	tree := os.DirFS(".")
	seen := 0
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			base := path.Base(name)
			if name != "." && base[0] == '.' || base == "testdata" || base == "examples" || slices.Contains(free, name) {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		src, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		seen++
		for i, line := range strings.Split(string(src), "\n") {
			if found := ownClient.FindString(line); found != "" {
				t.Errorf("%s:%d uses %s: take a client of internal/outbound", name, i+1, found)
			}
		}
		return nil
	})
	if err != nil || seen < 100 {
		t.Errorf("%d files were read: %v", seen, err)
	}
}
