package oauth

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/zalando/go-keyring"
)

func TestSystemKeyring(t *testing.T) {
	t.Setenv("BROKER_KEYRING", "")
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere") // so that it is asked at all
	keyring.MockInit()
	k := SystemKeyring()
	if _, err := k.Get("a"); !errors.Is(err, ErrNotFound) {
		t.Errorf("Get of nothing: %v", err)
	}
	if err := k.Set("a", "v"); err != nil {
		t.Fatal(err)
	}
	if v, err := k.Get("a"); v != "v" || err != nil {
		t.Errorf("Get = %q, %v", v, err)
	}
	if v, err := keyring.Get(Service, "a"); v != "v" || err != nil {
		t.Errorf("for other programs: %q, %v", v, err)
	}
	if err := errors.Join(k.Delete("a"), k.Set("b", "v")); err != nil {
		t.Error(err)
	}
	if err := k.Delete("a"); !errors.Is(err, ErrNotFound) {
		t.Errorf("Delete of nothing: %v", err)
	}
	for cause, want := range map[error]error{keyring.ErrSetDataTooBig: ErrTooBig, errors.New("the bus is gone"): ErrNoKeyring} {
		keyring.MockInitWithError(cause)
		if err := k.Set("a", "S3CR3T"); !errors.Is(err, want) || strings.Contains(err.Error(), "S3CR3T") {
			t.Errorf("Set, when it says %v: %v", cause, err)
		}
	}
}

// A locked keyring asks its user, who may be away.
type locked struct {
	memory
	release chan struct{}
}

func (l *locked) Get(name string) (string, error) {
	<-l.release
	return l.memory.Get(name)
}

func TestLockedKeyringDoesNotHoldTheBrokerUp(t *testing.T) {
	l := &locked{release: make(chan struct{})}
	defer close(l.release)
	m := newIn(t.TempDir(), &Options{Keyring: l})
	s := Server{Name: "s", URL: "https://example.com/mcp"}
	if err := m.store.save(m.store.key(s.Name, s.URL), &record{AccessToken: "t"}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the broker stops"))
	if _, err := m.Handler(s).TokenSource(ctx); err == nil || !strings.Contains(err.Error(), "the broker stops") {
		t.Errorf("err = %v", err)
	}
}
