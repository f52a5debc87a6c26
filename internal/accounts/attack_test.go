package accounts_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/redact"
)

// Nobody can be made to connect an account for somebody else, or be given another's.
func TestConnectingIsOfOneBrowserAndPerson(t *testing.T) {
	remote := startRemote(t)
	r := start(t, sealedFiles(t, t.TempDir()), []config.Server{remoteServer("crm", remote), remoteServer("other", remote)}, nil)
	link := r.link(ann, "crm")
	if kept := redact.Text("see " + link + ", and"); strings.Contains(kept, link[len(link)-26:]) {
		t.Errorf("the record would have the link: %s", kept)
	}
	own, stranger := newBrowser(t, "ann-at-crm"), newBrowser(t, "mallory-at-crm")
	for range 2 { // what previews links does not use them up
		if status, page := stranger.get(link); status != http.StatusOK || !strings.Contains(page, "Go on only if you are <strong>ann</strong>") {
			t.Errorf("the link shows %d %s", status, page)
		}
	}
	refused := func(what string, want int, status int, page string) {
		t.Helper()
		if status != want || strings.Contains(page, "<h1>Connected</h1>") {
			t.Errorf("%s: %d %s", what, status, page)
		}
	}
	status, page := own.post(link, "https://evil.example", nil)
	refused("a form of another page", 403, status, page)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, link, nil)
	if err == nil {
		req.Host = "evil.example"
	}
	status, page = own.do(req, err)
	refused("a name that was made to lead here", 403, status, page)
	status, page = own.get(strings.Replace(link, "/crm/", "/other/", 1))
	refused("the link of another server", 404, status, page)
	status, page = own.get(r.base + "/connect/crm")
	refused("without a link", 403, status, page)
	if status, page := own.post(link, r.base, nil); status != http.StatusOK || !strings.Contains(page, "You are <strong>ann</strong>") {
		t.Fatalf("the link leads to %d %s", status, page)
	}
	status, page = stranger.post(link, r.base, nil)
	refused("the link for the second time", 404, status, page)
	status, page = own.get(r.base + "/connect")
	refused("all accounts, with a link for one", 403, status, page)
	status, page = own.get(r.base + "/connect/other")
	refused("another server, with a link for one", 403, status, page)

	// The sign-in page of ann's browser, opened by somebody else, and the other way round.
	signIn := own.leave(r, "crm")
	status, page = stranger.get(signIn)
	refused("the answer in another browser", 400, status, page)
	bobs := newBrowser(t, "bob-at-crm")
	if status, page := bobs.post(r.link(bob, "crm"), r.base, nil); status != http.StatusOK {
		t.Fatalf("%d %s", status, page)
	}
	status, page = own.get(bobs.leave(r, "crm"))
	refused("the sign-in of another person", 400, status, page)
	status, page = own.get(r.base + "/connect/callback?" + url.Values{"state": {strings.Repeat("0", 42)}, "code": {"x"}}.Encode())
	refused("a state that nobody was given", 400, status, page)
	if _, err := r.whoami(ann, "crm"); err == nil {
		t.Error("ann is connected")
	}
	own.signIn(r, "crm")
	r.want(ann, "crm", "ann-at-crm")
	if _, err := r.whoami(bob, "crm"); err == nil {
		t.Error("bob is connected")
	}
}

// Names of servers and people are text on a page.
func TestPagesEscapeNames(t *testing.T) {
	remote := startRemote(t)
	r := start(t, sealedFiles(t, t.TempDir()), []config.Server{remoteServer("<b>crm</b> a/b", remote)}, nil)
	named := *ann
	named.Name = "<script>alert(1)</script>"
	b := newBrowser(t, "x")
	link := r.link(&named, "<b>crm</b> a/b")
	_, page := b.get(link)
	status, next := b.post(link, r.base, nil)
	if page += next; status != http.StatusOK || strings.Contains(page, "<script>") || strings.Contains(page, "<b>") || !strings.Contains(page, "&lt;script&gt;") {
		t.Errorf("%d %s", status, page)
	}
}
