package main

import (
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/oauth"
	"github.com/mcpbroker/mcpbroker/internal/secret"
)

// systemKeyring is one for the whole process: a keyring that hangs is not asked again.
var systemKeyring = oauth.SystemKeyring()

func keyring() oauth.Keyring { return systemKeyring }

// keyringSecret returns a secret of the keyring.
func keyringSecret(name string) (string, error) { return oauth.Secret(keyring(), name) }

// programs are asked for secrets that the config refers to.
var programs secret.Programs

// expand resolves references from the environment, the keyring and programs.
func expand(s string) (string, error) { return sources().Expand(s) }

func sources() config.Sources {
	return config.Sources{
		Env:     lookupVariable,
		Keyring: keyringSecret,
		Program: programs.Get,
	}
}
