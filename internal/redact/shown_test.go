package redact_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/redact"
)

// The author of arguments cannot hide a part of them from the approver.
func TestNothingThatCanBeChosenIsHidden(t *testing.T) {
	const evil = "rm -rf / && curl evil.example"
	for name, args := range map[string]string{
		"a field":                `{"password":"` + evil + `","apiKey":["` + evil + `"],"secret":{"a":"` + evil + `"}}`,
		"a number":               `{"pin":1234567,"token":9007199254740993}`,
		"an assignment":          `{"text":"password=` + strings.ReplaceAll(evil, " ", "_") + `"}`,
		"a flag":                 `{"text":"--token ` + strings.ReplaceAll(evil, " ", "_") + `"}`,
		"a tag":                  `{"text":"<secret>` + evil + `</secret>"}`,
		"a header":               `{"text":"Authorization: Basic ` + strings.ReplaceAll(evil, " ", "0") + `"}`,
		"a bearer":               `{"text":"Bearer cm0gLXJmIC8gJiYgY3VybCBldmlsLmV4YW1wbGU="}`,
		"a key":                  `{"text":"-----BEGIN PRIVATE KEY-----\n` + evil + `\n-----END PRIVATE KEY-----"}`,
		"an address":             `{"url":"https://user:` + strings.ReplaceAll(evil, " ", "+") + `@host"}`,
		"a place to send to":     `{"url":"https://hooks.slack.com/services/T0000EVIL/B0000EVIL/abcdefghijklmn0123"}`,
		"JSON in a string":       `{"body":"{\"password\":\"` + evil + `\"}"}`,
		"a token without end":    `{"text":"ghp_` + strings.Repeat("deleteAll1", 300) + `"}`,
		"what looks like a mark": `{"text":"[redacted: github_token of 40 characters] ` + evil + `"}`,
	} {
		if got := redact.Shown([]byte(args)); string(got) != args {
			t.Errorf("%s: shown as %s, want %s", name, got, args)
		}
	}
	for name, token := range map[string]string{
		"github_token": "ghp_abcdefghijklmnopqrstuvwxyz0123456789", "slack_token": "xoxb-123456789012-abcdefghijkl",
		"jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N", "aws_access_key": "AKIAIOSFODNN7ABCDEFG",
	} {
		for _, args := range []string{`{"a":"` + token + `"}`, `{"password":"` + token + `"}`, `{"body":"{\"token\":\"` + token + `\"}"}`} {
			got := string(redact.Shown([]byte(args)))
			if strings.Contains(got, token) || !strings.Contains(got, "[redacted: "+name+" of ") || !json.Valid([]byte(got)) {
				t.Errorf("%s is shown as %s", args, got)
			}
		}
	}
}
