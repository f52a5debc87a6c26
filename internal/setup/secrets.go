package setup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/clients"
	"github.com/mcpbroker/mcpbroker/internal/oauth"
)

func KeyringFailure(verb string, err error) error {
	if errors.Is(err, oauth.ErrNoKeyring) {
		return cli.Errorf("%s the secret: %w, and a secret is not written to a plain file\nhint: put it into the environment and write ${VAR} in the config", verb, err)
	}
	return fmt.Errorf("%s the secret: %w", verb, err)
}

// What becomes of secrets that stand in the files of clients.
const (
	SecretsKeyring = "keyring" // they move into the keyring
	secretsKeep    = "keep"    // they are copied as they are
)

func CheckSecrets(choice string) error {
	if !slices.Contains([]string{"", SecretsKeyring, secretsKeep}, choice) {
		return cli.Usagef("--secrets is %q: use keyring or keep", choice)
	}
	return nil
}

// offersKeyring asks the person at the terminal whether the secrets of these
// servers are to move into the keyring, unless that was said already.
func (s *Setup) offersKeyring(ctx context.Context, choice string, dryRun bool, outcomes []clients.Outcome) bool {
	person := s.Person()
	if choice != "" || dryRun || person == nil {
		return false
	}
	var names []string
	for _, o := range outcomes {
		if o.Secret {
			names = append(names, o.Name)
		}
	}
	if len(names) == 0 {
		return false
	}
	if _, err := s.Keyring().Get("broker"); errors.Is(err, oauth.ErrNoKeyring) {
		return false // what is printed of the servers says where secrets stand
	}
	yes, err := person.Confirm(ctx, "Secrets stand in the entries of "+strings.Join(names, ", ")+". Move those of env and headers into the keyring?", true)
	return err == nil && yes
}

// StoreSecret puts a secret into the keyring, unless there is another one of its
// name.
func (s *Setup) StoreSecret(name, value string) error {
	if err := oauth.CheckSecretName(name); err != nil {
		return cli.Errorf("%q: %w\nhint: --secrets keep", name, err)
	}
	old, err := s.Keyring().Get(name)
	switch {
	case err == nil && old == value:
		return nil
	case err == nil:
		return cli.Errorf("the keyring has another secret called %q: nothing was written\nhint: broker auth delete-secret %s, or --secrets keep", name, cli.Lines(oauth.Quote(name)))
	case errors.Is(err, oauth.ErrNoKeyring):
		return cli.Errorf("%w: nothing was written\nhint: --secrets keep", err)
	}
	if err := s.Keyring().Set(name, value); err != nil {
		return KeyringFailure("store", err)
	}
	return nil
}
