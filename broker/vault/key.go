package vault

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"
	"time"
)

// A Keyring keeps a secret by its name.
type Keyring interface {
	Get(name string) (string, error)
	Set(name, value string) error
}

// keyringTime is how long a keyring may take before a file is used in its place:
// an answer waits for it.
const keyringTime = 2 * time.Second

// Key returns the key in the file at path, which only its user can read, or else
// the one that the keyring has under name. Without any it makes one, in the keyring
// if that works, else in the file. Absent says which errors of the keyring mean
// that it works and has none.
func Key(path string, ring Keyring, name string, absent error) func() ([]byte, error) {
	return func() ([]byte, error) {
		if text, err := os.ReadFile(path); err == nil {
			return hex.DecodeString(string(text))
		}
		fresh := make([]byte, 32)
		_, _ = rand.Read(fresh) // never fails
		found := make(chan string, 1)
		go func() {
			text, err := ring.Get(name)
			if errors.Is(err, absent) {
				text = hex.EncodeToString(fresh)
				err = ring.Set(name, text)
			}
			if err != nil {
				text = ""
			}
			found <- text
		}()
		select {
		case text := <-found:
			if key, err := hex.DecodeString(text); err == nil && len(key) == 32 {
				return key, nil
			}
		case <-time.After(keyringTime):
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, os.ErrExist) { // another process was first
			text, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			return hex.DecodeString(string(text))
		}
		if err != nil {
			return nil, err
		}
		_, err = f.WriteString(hex.EncodeToString(fresh))
		return fresh, errors.Join(err, f.Close())
	}
}
