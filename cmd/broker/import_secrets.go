package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/clients"
	"github.com/mcpbroker/mcpbroker/internal/oauth"
)

// What becomes of secrets that stand in the files of clients.
const (
	secretsKeyring = "keyring" // they move into the keyring
	secretsKeep    = "keep"    // they are copied as they are
)

func secretsFlag(c *cobra.Command, to *string) {
	c.Flags().StringVar(to, "secrets", "", "what looks like a secret in env and headers: keyring moves it there, keep copies it\n(default: asked for on a terminal, else keep)")
}

func checkSecrets(choice string) error {
	if !slices.Contains([]string{"", secretsKeyring, secretsKeep}, choice) {
		return cli.Usagef("--secrets is %q: use keyring or keep", choice)
	}
	return nil
}

// offersKeyring asks the person at the terminal whether the secrets of these
// servers are to move into the keyring, unless that was said already.
func (a *app) offersKeyring(ctx context.Context, choice string, dryRun bool, outcomes []clients.Outcome) bool {
	person := a.Person()
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
	if _, err := keyring().Get("broker"); errors.Is(err, oauth.ErrNoKeyring) {
		return false // what is printed of the servers says where secrets stand
	}
	yes, err := person.Confirm(ctx, "Secrets stand in the entries of "+strings.Join(names, ", ")+". Move those of env and headers into the keyring?", true)
	return err == nil && yes
}

// storeSecret puts a secret into the keyring, unless there is another one of its
// name.
func storeSecret(name, value string) error {
	if err := oauth.CheckSecretName(name); err != nil {
		return cli.Errorf("%q: %w\nhint: --secrets keep", name, err)
	}
	old, err := keyring().Get(name)
	switch {
	case err == nil && old == value:
		return nil
	case err == nil:
		return cli.Errorf("the keyring has another secret called %q: nothing was written\nhint: broker auth delete-secret %s, or --secrets keep", name, cli.Lines(oauth.Quote(name)))
	case errors.Is(err, oauth.ErrNoKeyring):
		return cli.Errorf("%w: nothing was written\nhint: --secrets keep", err)
	}
	if err := keyring().Set(name, value); err != nil {
		return keyringFailure("store", err)
	}
	return nil
}
