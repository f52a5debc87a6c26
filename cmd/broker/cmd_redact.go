package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/redact"
)

// maxRedactLine bounds one line that redact reads.
const maxRedactLine = 64 << 20

// A redactInput is one text to look through; media is "json" if what comes out has
// to be JSON as well.
type redactInput struct {
	ID    json.RawMessage `json:"id,omitempty"`
	Text  string          `json:"text"`
	Media string          `json:"media,omitempty"`
}

type redactOutput struct {
	ID    json.RawMessage `json:"id,omitempty"`
	Text  string          `json:"text"`
	Spans []redact.Span   `json:"spans"`
}

func (a *app) redactCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "redact",
		Short: "Hide secrets and personal data in texts on standard input", Hidden: true,
		Long: `Hide secrets and personal data in texts on standard input.

Each line is JSON, {"id", "text", "media"?}, and so is each line of the answer: {"id", "text", "spans": [{"type", "start", "end"}]}, with offsets in bytes of
the text that was read. With "media": "json" the new text is JSON as well, and what stands under names such as "password" is hidden too.

It finds e-mail addresses, phone numbers in international form, payment cards, IBANs, US social security numbers, private keys, keys and tokens of
services, JWTs, passwords in URLs, and values of fields such as password, secret, token and api_key. It does not find names and postal addresses.`,
		Args: cli.NoArgs,
		RunE: func(*cobra.Command, []string) error { return redactLines(a.In, cli.Exact(a.Out)) },
	}
}

func redactLines(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 64<<10), maxRedactLine)
	w := bufio.NewWriter(out)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for n := 1; lines.Scan(); n++ {
		if len(lines.Bytes()) == 0 {
			continue
		}
		var line redactInput
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return errors.Join(w.Flush(), cli.Usagef("line %d: invalid JSON: %w\nhint: broker redact --help shows the format", n, err))
		}
		if err := enc.Encode(redactText(line)); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return errors.Join(w.Flush(), err)
	}
	return w.Flush()
}

func redactText(line redactInput) redactOutput {
	r := redactOutput{ID: line.ID, Text: line.Text, Spans: []redact.Span{}}
	if line.Media == "json" {
		if spans, ok := redact.FindJSON(line.Text); ok {
			r.Spans = append(r.Spans, spans...)
			r.Text = redact.ReplaceJSON(line.Text, spans, redact.Mark)
			return r
		}
	}
	spans := redact.Find(line.Text)
	r.Spans = append(r.Spans, spans...)
	r.Text = redact.Replace(line.Text, spans, redact.Mark)
	return r
}
