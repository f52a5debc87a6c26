//go:build unix

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/eventually"
)

// withRetry makes nginx send a request again that got no answer, as docs/serve.md
// says.
func withRetry(conf string) string {
	return strings.Replace(conf, "proxy_next_upstream error timeout;", "proxy_next_upstream error timeout non_idempotent;\nproxy_set_header Idempotency-Key $request_id;", 1)
}

// Brokers are killed, one after the other, while clients write: nothing is lost of
// what was answered, and nothing is done twice.
func TestFleetKilled(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		nginx func(string) string
	}{{"no retry", nil}, {"retry", withRetry}} {
		t.Run(tt.name, func(t *testing.T) {
			c := startCounter(t)
			f := startFleetWith(t, 3, faultsConfig(t, map[string]string{"counter": c.url}, map[string]any{}), fleetOptions{nginx: tt.nginx})
			l := startLoad(t, c, 8, f.url)
			began := time.Now()
			kept := openKept(t, f.states[0])
			kills := 0
			for ; kills < 2 || time.Since(began) < faultsFor(t); kills++ {
				r, before, at := f.replicas[kills%3], l.n.Load(), time.Now()
				eventually.True(t, "clients go on", func() bool { return l.n.Load() > before+10 })
				r.signal(syscall.SIGKILL)
				<-r.ended
				kept.readRuns(t)
				r.start(t)
				r.ready(t)
				pause := 2200 * time.Millisecond // nginx tries again after 2 s what has failed
				if faultsFor(t) > 0 {
					pause = 5*time.Second - time.Since(at)
				}
				ready := time.Now()
				eventually.True(t, "the next one", func() bool { return time.Since(ready) > pause })
			}
			l.end()
			t.Logf("%d kills in %v", kills, time.Since(began).Round(time.Second))
			l.check(kept)
		})
	}
}

// ownCertificate makes a certificate for both sides, which signs itself.
func ownCertificate(t *testing.T) (cert, key string) {
	t.Helper()
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: pkcs8}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// Of two sandboxd one is killed, again and again: what ran there ends with 137 and the
// calls that it made, nothing is run again, and the other one goes on.
func TestFleetSandboxdKilled(t *testing.T) {
	t.Parallel()
	cert, key := ownCertificate(t)
	addrs := freePorts(t, 2)
	sandboxd := func(addr string) *exec.Cmd {
		t.Helper()
		cmd := brokerCommand(t, "sandboxd", "--listen", addr, "--cert", cert, "--key", key, "--client-ca", cert)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		eventually.True(t, "sandboxd listens", func() bool {
			c, err := net.Dial("tcp", addr)
			if err == nil {
				c.Close()
			}
			return err == nil
		})
		return cmd
	}
	running := []*exec.Cmd{sandboxd(addrs[0]), sandboxd(addrs[1])}
	t.Cleanup(func() {
		for _, cmd := range running {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	c := startCounter(t)
	f := startFleetWith(t, 2, faultsConfig(t, map[string]string{"counter": c.url}, map[string]any{
		"sandbox": map[string]any{"remote": map[string]any{"addresses": addrs, "ca": cert, "cert": cert, "key": key}},
	}), fleetOptions{})
	kept := openKept(t, f.states[0])
	l := startLoad(t, c, 8, f.url)
	began, kills := time.Now(), 0
	for ; kills < 4 || time.Since(began) < faultsFor(t); kills++ {
		before := l.n.Load()
		eventually.True(t, "clients go on", func() bool { return l.n.Load() > before+10 })
		_ = running[kills%2].Process.Kill()
		_ = running[kills%2].Wait()
		before = l.n.Load()
		eventually.True(t, "the other one goes on", func() bool { return l.n.Load() > before+10 })
		running[kills%2] = sandboxd(addrs[kills%2])
	}
	l.end()
	kept.readRuns(t)
	t.Logf("%d kills in %v", kills, time.Since(began).Round(time.Second))
	l.check(kept)
	for key, err := range l.failed {
		made := 0
		for _, call := range kept.calls[key] {
			if call.Tool == "write" {
				made++
			}
		}
		if writes := c.count(key+"-1") + c.count(key+"-2"); !strings.Contains(err.Error(), `"exit_code":137`) || made < writes || kept.executions[key].ExitCode != 137 {
			t.Errorf("%s made %d writes, %d are in the record, with exit code %d: %v", key, writes, made, kept.executions[key].ExitCode, err)
		}
	}
	if len(l.failed) == 0 {
		t.Error("no script was in the way of a kill")
	}
}

// A broker is stopped for a while, its run is taken over meanwhile, and it sends
// nothing more of that when it goes on.
func TestFleetPaused(t *testing.T) {
	t.Parallel()
	db, c := startDatabase(t), startCounter(t)
	at := db.Address()
	f := startFleetWith(t, 2, faultsConfig(t, map[string]string{"counter": c.url}, map[string]any{}),
		fleetOptions{states: []string{at + "&application_name=paused", at}})
	one, two := "http://"+f.replicas[0].addr+"/mcp", "http://"+f.replicas[1].addr+"/mcp"
	const code = `await counter.write({key: "p-1"}); await counter.gate({key: "p"}); await counter.write({key: "p-2"}); return 'p-'`
	answers := make(chan error, 1)
	first := newCaller(t, one, modern)
	go func() {
		answer, err := first.run(t.Context(), code)
		if err == nil {
			err = fmt.Errorf("it answers %s", answer)
		}
		answers <- err
	}()
	eventually.True(t, "the script waits", func() bool { return c.waits.Load() == 1 })
	f.replicas[0].signal(syscall.SIGSTOP)
	l := startLoad(t, c, 2, two)
	eventually.True(t, "the other broker works", func() bool { return l.n.Load() > 20 })
	l.end()
	kept := openKept(t, at)
	runs := kept.db.Runs()
	defer runs.Close()
	list, err := runs.Runs(t.Context(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	id := list[len(list)-1].ID
	second := newCaller(t, two, modern)
	resume := map[string]any{"resume": id, "timeout": 100}
	if answer, err := second.tool(t.Context(), "execute_code", resume); err == nil || !strings.Contains(err.Error(), "is being executed") {
		t.Errorf("the run is resumed while its broker has its connection: %s, %v", answer, err)
	}
	// As the server does 25 s after a machine is gone.
	if _, err := db.Query("SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity WHERE application_name = 'paused'"); err != nil {
		t.Fatal(err)
	}
	close(c.gate)
	if answer, err := second.tool(t.Context(), "execute_code", resume); err != nil || !strings.Contains(answer, `"p-"`) {
		t.Errorf("the run is resumed: %s, %v", answer, err)
	}
	f.replicas[0].signal(syscall.SIGCONT)
	if err := <-answers; !strings.Contains(err.Error(), "was not sent") {
		t.Errorf("the run at the broker that was stopped: %v", err)
	}
	if answer, err := first.run(t.Context(), `return await counter.write({key: "p-3"})`); err != nil {
		t.Errorf("the broker that was stopped: %s, %v", answer, err)
	}
	for n := range 3 {
		if made := c.count(fmt.Sprint("p-", n+1)); made != 1 {
			t.Errorf("write %d was made %d times", n+1, made)
		}
	}
	l.check(kept)
}

// A server hangs, and as many scripts as there are places wait for it: those that call
// another server are not delayed.
func TestServerThatHangsDelaysNobodyElse(t *testing.T) {
	t.Parallel()
	hangs, c := startCounter(t), startCounter(t)
	f := startFleetWith(t, 1, faultsConfig(t, map[string]string{"hangs": hangs.url, "counter": c.url}, map[string]any{}), fleetOptions{})
	another := newCaller(t, f.url, modern)
	another.token = "x" + fleetToken
	times := func() (took []time.Duration) {
		for n := range 30 {
			began := time.Now()
			if answer, err := another.run(t.Context(), fmt.Sprintf(`return await counter.read({key: "%d"})`, n)); err != nil {
				t.Errorf("%s: %v", answer, err)
			}
			took = append(took, time.Since(began))
		}
		return took
	}
	p50, most := middle(times())
	t.Logf("before: p50 %v, at most %v", p50, most)
	var waiting sync.WaitGroup
	for range 8 {
		one := newCaller(t, f.url, modern)
		waiting.Go(func() { _, _ = one.run(t.Context(), `await hangs.gate({key: "h"})`) }) // it is let go
	}
	eventually.True(t, "scripts wait for the server", func() bool { return hangs.waits.Load() == 8 })
	p50, most = middle(times())
	t.Logf("while 8 scripts wait for a server that hangs: p50 %v, at most %v", p50, most)
	if hangs.waits.Load() != 8 {
		t.Errorf("%d scripts wait for the server that hangs", hangs.waits.Load())
	}
	close(hangs.gate)
	waiting.Wait()
}
