package cli

//lint:file-ignore SA1019 roots, sampling and logging are deprecated since 2026-07-28, and servers use them still

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const wholeForm = `{"type":"object","required":["name","age"],"properties":{
	"name":{"type":"string","title":"Your name"},
	"age":{"type":"integer"},
	"size":{"type":"string","enum":["s","m"],"default":"m"},
	"kind":{"type":"string","oneOf":[{"const":"a","title":"A"},{"const":"b"}]},
	"weight":{"type":"number"},
	"sure":{"type":"boolean"}}}`

func TestFormsAtTheTerminal(t *testing.T) {
	for _, tt := range []struct{ name, schema, typed, want string }{
		{"all fields", wholeForm, "Ada\n36\ns\nb\n1.5\nyes\n", `{"action":"accept","content":{"age":36,"kind":"b","name":"Ada","size":"s","sure":true,"weight":1.5}}`},
		{"presets and nothing", wholeForm, "Ada\n36\n\n\n\n\n", `{"action":"accept","content":{"age":36,"name":"Ada","size":"m"}}`},
		{"what does not fit is asked again", wholeForm, "\nAda\nold\n36\nxl\nm\n\nheavy\nNaN\n2\nperhaps\nn\n",
			`{"action":"accept","content":{"age":36,"name":"Ada","size":"m","sure":false,"weight":2}}`},
		{"declined", wholeForm, "Ada\n.\n", `{"action":"decline"}`},
		{"the input ends", wholeForm, "Ada\n", `{"action":"cancel"}`},
		{"no fields", `{"type":"object","properties":{}}`, "", `{"action":"accept"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var shown bytes.Buffer
			q := &mcp.ElicitParams{Message: "[s] Who\x1b[2J?", RequestedSchema: json.RawMessage(tt.schema)}
			answer, err := NewPerson(strings.NewReader(tt.typed), &shown).Answer(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(answer)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if strings.Contains(shown.String(), "\x1b") || !strings.Contains(shown.String(), "[s] Who·[2J?") {
				t.Errorf("shown: %q", &shown)
			}
		})
	}
}

// A form says what a period does in the words of its own choices.
func TestPeriodAtTheTerminalHasTheWordsOfTheForm(t *testing.T) {
	for schema, want := range map[string]string{
		`{"properties":{"decision":{"type":"string","enum":["approve once","approve for this run","deny","stop"]}}}`: "(a single . means deny)",
		`{"properties":{"decision":{"type":"string","enum":["show the rest","deny","stop"]}}}`:                       "(a single . means deny)",
		`{"properties":{"decision":{"type":"string","enum":["deny","stop"]},"except":{"type":"string"}}}`:            "(a single . means deny)",
		`{"properties":{"name":{"type":"string"}}}`:                                                                  "(a single . declines)",
		wholeForm: "(a single . declines)",
	} {
		var shown bytes.Buffer
		person := NewPerson(strings.NewReader(".\n"), &shown)
		person.Deny = "deny"
		answer, err := person.Answer(t.Context(), &mcp.ElicitParams{Message: "m", RequestedSchema: json.RawMessage(schema)})
		if result, ok := answer.(*mcp.ElicitResult); err != nil || !ok || result.Action != "decline" || !strings.Contains(shown.String(), want) {
			t.Errorf("%s: %v, %v; shown %q, want %q", schema, answer, err, &shown, want)
		}
	}
}

func TestFormsTooHardForATerminal(t *testing.T) {
	for _, schema := range []string{
		`{"properties":{"a":{"type":"array","items":{"type":"string"}}}}`, `{"properties":{"a":{}}}`, `{"properties":5}`, `[]`,
	} {
		_, err := NewPerson(strings.NewReader("x\n"), io.Discard).Answer(t.Context(), &mcp.ElicitParams{RequestedSchema: json.RawMessage(schema)})
		if !errors.Is(err, errForm) {
			t.Errorf("%s: %v", schema, err)
		}
	}
	if _, err := NewPerson(nil, io.Discard).Answer(t.Context(), &mcp.ListRootsParams{}); err == nil {
		t.Error("roots are asked for at a terminal")
	}
}

func TestQuestionAtTheTerminalEndsWithItsCall(t *testing.T) {
	in, typed := io.Pipe()
	defer typed.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := NewPerson(in, io.Discard).Answer(ctx, &mcp.ElicitParams{RequestedSchema: json.RawMessage(wholeForm)})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
}

func FuzzFormFields(f *testing.F) {
	f.Add(wholeForm)
	f.Add(`{"properties":{"a":{"type":"string"},"a":{"type":"number"}}}`)
	f.Fuzz(func(t *testing.T, schema string) {
		fields, err := formFields(json.RawMessage(schema))
		if err != nil {
			return
		}
		for _, field := range fields {
			var shown strings.Builder
			if Fprintf(&shown, "  %s: ", field.prompt()); steers.MatchString(shown.String()) || strings.Contains(shown.String(), "\n") {
				t.Errorf("prompt %q", shown.String())
			}
			if _, err := field.read("x"); err != nil && err.Error() == "" {
				t.Error("a value is refused without a reason")
			}
		}
	})
}
