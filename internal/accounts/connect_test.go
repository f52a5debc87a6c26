package accounts_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/fakeauth"
)

// Two people connect an account each, and none of their calls is made with the
// other's.
func TestPeopleHaveAccountsOfTheirOwn(t *testing.T) {
	remote, dir := startRemote(t), t.TempDir()
	r := start(t, sealedFiles(t, dir), []config.Server{remoteServer("crm", remote)}, nil)
	newBrowser(t, "ann-at-crm").connect(r, r.link(ann, "crm"), "crm")
	r.want(ann, "crm", "ann-at-crm")
	newBrowser(t, "bob-at-crm").connect(r, r.link(bob, "crm"), "crm")
	var wg sync.WaitGroup
	for i := range 1000 {
		p := []*upstream.Person{ann, bob}[i%2]
		wg.Go(func() { r.want(p, "crm", p.Name+"-at-crm") })
	}
	wg.Wait()
	if c := remote.Counts(); c.Registered != 1 || c.SignIns != 2 {
		t.Errorf("counts = %+v, want one client, and a sign-in of each", c)
	}
	if _, err := r.whoami(nil, "crm"); err == nil || !strings.Contains(err.Error(), "does not name one") {
		t.Errorf("a call of nobody: %v", err)
	}
	noSecretBelow(t, dir)
}

func noSecretBelow(t *testing.T, dir string) {
	t.Helper()
	seen := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if seen += len(data); strings.Contains(string(data), fakeauth.Secret) {
			t.Errorf("a secret is in %s", path)
		}
		return err
	})
	if err != nil || seen == 0 {
		t.Errorf("%d bytes were looked at, %v", seen, err)
	}
}
