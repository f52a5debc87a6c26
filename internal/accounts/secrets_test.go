package accounts_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/discovery/questions"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/eventually"
	"github.com/mcpbroker/mcpbroker/internal/fakeauth"
	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
)

func TestMain(m *testing.M) {
	fakeupstream.RunIfAsked()
	m.Run()
}

// A program runs for each person, with that person's secret alone, and not after it
// is disconnected.
func TestProgramsOfPeople(t *testing.T) {
	dir := t.TempDir()
	local := config.Server{Name: "local", Command: fakeupstream.Command(), Args: fakeupstream.Args(fakeupstream.Stateful), Env: map[string]string{"FAKE_PERSON": "${person:key}"}, Credentials: "user"}
	r := start(t, sealedFiles(t, dir), []config.Server{local}, nil)
	if st := r.Refresh(t.Context(), "local"); st[0].State != upstream.StateNeedsSignIn || !strings.Contains(st[0].Hint, r.base+"/connect") {
		t.Errorf("before anybody is connected: %+v", st[0])
	}
	enter := func(p *upstream.Person, b *browser, secret string) {
		t.Helper()
		if status, page := b.post(r.base+"/connect/local", r.base, url.Values{"secret-key": {secret}}); status != 200 || !strings.Contains(page, "<h1>Connected</h1>") {
			t.Fatalf("%s enters a secret: %d %s", p.Name, status, page)
		}
	}
	browsers := make(map[*upstream.Person]*browser)
	for _, p := range []*upstream.Person{ann, bob} {
		browsers[p] = newBrowser(t, p.Name)
		browsers[p].post(r.link(p, "local"), r.base, nil)
		enter(p, browsers[p], fakeauth.Secret+" "+p.Name)
	}
	if st := r.Refresh(t.Context(), "local"); st[0].State != upstream.StateReady || st[0].Tools == 0 {
		t.Errorf("when somebody is connected: %+v", st[0])
	}
	is := func(p *upstream.Person, name string) (text string) {
		t.Helper()
		text, err := r.whoami(p, "local")
		if err != nil || !strings.Contains(text, "by "+name+" ") {
			t.Errorf("%s is %s, %v, want %s", p.Name, text, err, name)
		}
		return text
	}
	var wg sync.WaitGroup
	for i := range 60 {
		p := []*upstream.Person{ann, bob}[i%2]
		wg.Go(func() { is(p, p.Name) })
	}
	wg.Wait()
	if first, second := is(ann, "ann"), is(ann, "ann"); first != second {
		t.Errorf("ann has two processes: %s, %s", first, second)
	}
	// One that crashes is started again, and is nobody else's business.
	before := is(bob, "bob")
	crash, text := "", is(ann, "ann")
	if m := regexp.MustCompile(`by ann ([0-9]+)`).FindStringSubmatch(text); m != nil {
		crash = m[1]
	}
	pid, err := strconv.Atoi(crash)
	if err != nil {
		t.Fatalf("%s has no process: %v", text, err)
	}
	process, err := os.FindProcess(pid)
	if err == nil {
		err = process.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "ann has another process", func() bool {
		text, err := r.whoami(ann, "local")
		return err == nil && strings.Contains(text, "by ann ") && !strings.Contains(text, crash)
	})
	if after := is(bob, "bob"); after != before {
		t.Errorf("bob's process was %s, and is %s since ann's has crashed", before, after)
	}
	enter(ann, browsers[ann], fakeauth.Secret+" anne")
	is(ann, "anne")
	if status, page := browsers[ann].post(r.base+"/connect/local", r.base, url.Values{"do": {"disconnect"}}); status != 200 || !strings.Contains(page, "Disconnected") {
		t.Fatalf("%d %s", status, page)
	}
	if got, err := r.whoami(ann, "local"); err == nil {
		t.Errorf("after ann has disconnected: %s", got)
	}
	is(bob, "bob")
	noSecretBelow(t, dir)
}

// A talker agrees to open each page, with do.
type talker struct{ do func(page string) }

func (talker) Capabilities() questions.Capabilities { return questions.Capabilities{URL: true} }
func (talker) PageDone(string)                      {}
func (a talker) Answer(_ context.Context, q mcp.InputRequest) (mcp.InputResponse, error) {
	a.do(q.(*mcp.ElicitParams).URL)
	return &mcp.ElicitResult{Action: "accept"}, nil
}

func TestACallWaitsForTheAccount(t *testing.T) {
	r := start(t, sealedFiles(t, t.TempDir()), []config.Server{remoteServer("crm", startRemote(t))}, nil)
	ask := talker{do: func(page string) { newBrowser(t, "ann-at-crm").connect(r, page, "crm") }}
	raw, err := r.Call(upstream.WithPerson(t.Context(), ann), "crm", "whoami", nil, &upstream.CallOptions{Talker: ask})
	if err != nil || !strings.Contains(string(raw), "by ann-at-crm") {
		t.Errorf("the call answers %s, %v", raw, err)
	}
}

// A token of a person is exchanged once for many calls, goes to no server, and is
// good for nobody else.
func TestExchange(t *testing.T) {
	remote := startRemote(t)
	remote.Set(func(b *fakeauth.Behaviour) {
		b.ClientID, b.ClientSecret = "broker", "secret"
		b.Subject = func(token string) (string, bool) {
			name, ok := strings.CutPrefix(token, "token of ")
			return name + "-at-erp", ok
		}
	})
	erp := config.Server{Name: "erp", URL: remote.URL, Credentials: "exchange", OAuth: config.OAuth{ClientID: "broker", ClientSecret: "secret", TokenEndpoint: remote.Issuer + "/token"}}
	r := start(t, nil, []config.Server{erp}, nil)
	with := func(p *upstream.Person, token string) *upstream.Person {
		q := *p
		q.Token, q.Expires = token, time.Now().Add(time.Hour)
		return &q
	}
	a, b := with(ann, "token of ann"), with(bob, "token of bob")
	var wg sync.WaitGroup
	for i := range 200 {
		p := []*upstream.Person{a, b}[i%2]
		wg.Go(func() { r.want(p, "erp", p.Name+"-at-erp") })
	}
	wg.Wait()
	if c := remote.Counts(); c.Traded != 2 || c.Refused != 0 {
		t.Errorf("counts = %+v, want one exchange for each person", c)
	}
	remote.Forget(false) // a token that is refused is exchanged once more
	r.want(a, "erp", "ann-at-erp")
	if c := remote.Counts(); c.Traded != 3 {
		t.Errorf("counts = %+v, want one more exchange", c)
	}
	for _, p := range []*upstream.Person{with(ann, "stolen"), {Subject: "bot", Name: "bot"}, {Issuer: ann.Issuer, Subject: "1", Name: "ann", Token: "token of ann before", Expires: time.Now().Add(-time.Second)}} {
		got, err := r.whoami(p, "erp")
		if _, ok := errors.AsType[*upstream.ConnectError](err); !ok {
			t.Errorf("%+v calls as %s, %v", p, got, err)
		}
		if strings.Contains(fmt.Sprint(err), p.Token) && p.Token != "" {
			t.Errorf("the error has the token: %v", err)
		}
	}
}
