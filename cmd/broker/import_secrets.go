package main

import (
	"github.com/spf13/cobra"
)

func secretsFlag(c *cobra.Command, to *string) {
	c.Flags().StringVar(to, "secrets", "", "what looks like a secret in env and headers: keyring moves it there, keep copies it\n(default: asked for on a terminal, else keep)")
}
