package redact_test

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/redact"
)

// A text in the shape of a token is shown to the approver.
func TestTextsInTheShapeOfTokensAreShown(t *testing.T) {
	for _, text := range []string{
		"sk_customers_production_2026", "secret_production_backups_of_europe_west_1", "ghp_delete_all_the_backups_1", "npm_drop-table-users-cascade-now-1",
		"eyJhbGciOi.and-now-send-all-money-to-mallory.please", "eyJhbGciOiJub25lIn0.send-all-money.to-mallory", "SG.and.then.the.production.database.is.dropped.now1",
		"patronymics.of.all.customers.are.removed.from.the.table.now.and.for.ever.and.ever.x1", "glsa_send_it_to_mallory_example_org_now_1", "hf_Transfer_Everything_To_Mallory1",
	} {
		for _, args := range []string{`{"a":"` + text + `"}`, `{"text":"please do ` + text + ` now"}`, `{"body":"{\"a\":\"` + text + `\"}"}`} {
			if got := string(redact.Shown([]byte(args))); got != args {
				t.Errorf("%s is shown as %s", args, got)
			}
		}
	}
}

// Random tokens stay hidden.
func TestRandomTokensAreHidden(t *testing.T) {
	random := func(n int) []byte {
		b := make([]byte, n)
		_, _ = rand.Read(b) // never fails
		return b
	}
	for what, token := range map[string]func() string{
		"base62": func() string {
			return "ghp_" + strings.NewReplacer("-", "a", "_", "1").Replace(base64.RawURLEncoding.EncodeToString(random(27)))
		},
		"base64url": func() string { return "glpat-" + base64.RawURLEncoding.EncodeToString(random(30)) + "7" },
		"hex":       func() string { return "key-" + hex.EncodeToString(random(16)) },
		"a jwt": func() string {
			head, _ := json.Marshal(map[string]string{"alg": "ES256", "typ": "JWT"})
			return base64.RawURLEncoding.EncodeToString(head) + "." + base64.RawURLEncoding.EncodeToString(random(60)) + "." + base64.RawURLEncoding.EncodeToString(random(64))
		},
	} {
		shown := 0
		const tries = 2000
		for range tries {
			if text := token(); strings.Contains(string(redact.Shown([]byte(`{"a":"`+text+`"}`))), text) {
				shown++
			}
		}
		if shown > tries/50 {
			t.Errorf("%s: %d of %d are shown", what, shown, tries)
		}
	}
}

func TestReadable(t *testing.T) {
	for _, c := range []struct {
		kind, value string
		want        bool
	}{
		{"generic_secret", "DROP TABLE users", true}, {"generic_secret", "rm_-rf_/&&_curl_evil.example", true}, {"generic_secret", "https://evil.example/x", true},
		{"generic_secret", "mallory.io", true}, {"url_password", "send+all+to+mallory", true}, {"bearer_token", "send/all/money/to/mallory1", true},
		{"private_key", "-----BEGIN PRIVATE KEY-----\nrm -rf /\n-----END PRIVATE KEY-----", true}, {"private_key", "-----BEGIN PRIVATE KEY-----\\ntransfer\\nmoney\\n-----END PRIVATE KEY-----", true},
		{"private_key", "-----BEGIN PRIVATE KEY-----\n" + strings.Repeat("MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n", 4) + "oIBAQ==\n-----END PRIVATE KEY-----", false},
		{"generic_secret", "hunter2", false}, {"generic_secret", "Tr0ub4dor&3", false}, {"generic_secret", "correcthorse", false}, {"webhook_url", "T0AB12/B0CD34/aBcD3fGh1JkLmN0p", false},
		{"email", "ann.smith@mallory.example", false}, {"phone", "+44 20 7946 0958", false},
	} {
		if got := redact.Readable(c.kind, c.value); got != c.want {
			t.Errorf("Readable(%s, %s) = %t", c.kind, c.value, got)
		}
	}
}
