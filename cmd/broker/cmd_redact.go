package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/redact"
)

func redactCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "redact",
		Short: "Hide secrets and personal data in texts on standard input", Hidden: true,
		Long: `Hide secrets and personal data in texts on standard input.

Each line is JSON, {"id", "text", "media"?}, and so is each line of the answer: {"id", "text", "spans": [{"type", "start", "end"}]}, with offsets in bytes of
the text that was read. With "media": "json" the new text is JSON as well, and what stands under names such as "password" is hidden too.

It finds e-mail addresses, phone numbers in international form, payment cards, IBANs, US social security numbers, private keys, keys and tokens of
services, JWTs, passwords in URLs, and values of fields such as password, secret, token and api_key. It does not find names and postal addresses.`,
		Args: cli.NoArgs,
		RunE: func(_ *cobra.Command, _ []string) error { return runRedact(e) },
	}
}

func runRedact(e *env) error {
	err := redact.Lines(e.In, cli.Exact(e.Out))
	if wrong, ok := errors.AsType[*redact.LineError](err); ok {
		return cli.Usagef("%w\nhint: broker redact --help shows the format", wrong)
	}
	return err
}
