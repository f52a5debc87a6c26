package oauth

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/zalando/go-keyring"
)

// Service is the name of the broker's entries in the keyring.
const Service = "broker"

// entryPrefix is the prefix of the names of entries with tokens. The user's secrets must not have
// it.
const entryPrefix = "oauth:"

var (
	// ErrNoKeyring means that this machine, or this login session, has no working keyring.
	ErrNoKeyring = errors.New("there is no keyring here")
	// ErrNotFound means that the keyring has no such entry.
	ErrNotFound = errors.New("not in the keyring")
	// ErrTooBig means that an entry is too large for the keyring.
	ErrTooBig = errors.New("too big for the keyring")
)

// A Keyring stores secrets by name. It must be safe for concurrent use. Its errors are, or wrap,
// ErrNoKeyring, ErrNotFound or ErrTooBig where these apply, and never contain a value.
type Keyring interface {
	Get(name string) (string, error)
	Set(name, value string) error
	Delete(name string) error
}

// keyringPatience bounds one operation. A locked keyring asks its user for a password.
const keyringPatience = time.Minute

// NoKeyring is a keyring that is not available.
type NoKeyring struct{}

// Get fails with ErrNoKeyring.
func (NoKeyring) Get(string) (string, error) { return "", ErrNoKeyring }

// Set fails with ErrNoKeyring.
func (NoKeyring) Set(string, string) error { return ErrNoKeyring }

// Delete fails with ErrNoKeyring.
func (NoKeyring) Delete(string) error { return ErrNoKeyring }

// SystemKeyring returns the keyring of the system: Keychain, Credential Manager
// or the Secret Service. With BROKER_KEYRING=off in the environment, and on
// machines without one, every operation fails with ErrNoKeyring.
func SystemKeyring() Keyring { return &systemKeyring{} }

type systemKeyring struct {
	mu     sync.Mutex // one prompt at a time
	broken error      // the error of a keyring that is not asked again
}

// do runs op unless the keyring is known not to work. A hanging keyring is not asked again, so at
// most one goroutine remains.
func (k *systemKeyring) do(op func() error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.broken == nil {
		k.broken = noKeyring()
	}
	if k.broken != nil {
		return k.broken
	}
	done := make(chan error, 1)
	go func() { done <- op() }()
	select {
	case err := <-done:
		switch {
		case err == nil:
			return nil
		case errors.Is(err, keyring.ErrNotFound):
			return ErrNotFound
		case errors.Is(err, keyring.ErrSetDataTooBig):
			return ErrTooBig
		}
		return fmt.Errorf("%w: %w", ErrNoKeyring, err)
	case <-time.After(keyringPatience):
		k.broken = fmt.Errorf("%w: it did not answer for %s", ErrNoKeyring, keyringPatience)
		return k.broken
	}
}

func (k *systemKeyring) Get(name string) (value string, err error) {
	var got string
	if err := k.do(func() (err error) { got, err = keyring.Get(Service, name); return err }); err != nil {
		return "", err
	}
	return got, nil
}

func (k *systemKeyring) Set(name, value string) error {
	return k.do(func() error { return keyring.Set(Service, name, value) })
}

func (k *systemKeyring) Delete(name string) error {
	return k.do(func() error { return keyring.Delete(Service, name) })
}

// noKeyring returns the reason the system's keyring cannot be used. Without a session
// bus, asking would start one.
func noKeyring() error {
	if os.Getenv("BROKER_KEYRING") == "off" {
		return fmt.Errorf("%w: BROKER_KEYRING is off", ErrNoKeyring)
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" || os.Getenv("DBUS_SESSION_BUS_ADDRESS") != "" {
		return nil
	}
	dir := filepath.Join("/run/user", strconv.Itoa(os.Getuid()))
	for _, name := range []string{"bus", "dbus-session"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return nil
		}
	}
	return fmt.Errorf("%w: no session bus runs for this user", ErrNoKeyring)
}

// CheckSecretName returns an error if name is not valid for a user's secret.
func CheckSecretName(name string) error {
	switch {
	case strings.TrimSpace(name) == "":
		return errors.New("the secret needs a name")
	case strings.HasPrefix(name, entryPrefix):
		return fmt.Errorf("names that begin with %q are the broker's own", entryPrefix)
	case strings.ContainsAny(name, "{}\x00\r\n"):
		return errors.New("the name of a secret must not have braces or line breaks")
	}
	return nil
}

// Secret returns the user's secret called name, for ${keyring:name}. Its errors contain advice.
func Secret(k Keyring, name string) (string, error) {
	if err := CheckSecretName(name); err != nil {
		return "", err
	}
	value, err := k.Get(name)
	switch {
	case errors.Is(err, ErrNotFound):
		return "", fmt.Errorf("the keyring has no %q: broker auth set-secret %s", name, Quote(name))
	case errors.Is(err, ErrNoKeyring):
		return "", fmt.Errorf("%w: use ${VAR} instead", err)
	}
	return value, err
}

// Quote quotes a name for a command line that a person types.
func Quote(name string) string {
	for _, r := range name {
		switch {
		case r >= '0' && r <= '9', r >= 'A' && r <= 'Z', r >= 'a' && r <= 'z', strings.ContainsRune("-_.:/@+", r):
		default:
			return `"` + strings.NewReplacer(`"`, `\"`, `\`, `\\`, "$", `\$`, "`", "\\`").Replace(name) + `"`
		}
	}
	return name
}
