package broker_test

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/broker/vault"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/policy"
	"github.com/mcpbroker/mcpbroker/state/files"
	"github.com/mcpbroker/mcpbroker/state/sqlite"
)

var tokenForm = regexp.MustCompile(`«[a-z_]+:[0-9]+·[a-z2-7]{6}»`)

// hidingBroker has the servers crm and mail, whose tools answer with their
// arguments, and hides secrets and personal data.
func hidingBroker(t *testing.T, dir string, reveal ...string) *broker.Broker {
	t.Helper()
	patterns, err := policy.NewPatterns(reveal)
	if err != nil {
		t.Fatal(err)
	}
	store, err := sqlite.Open(dir, &sqlite.Options{Payloads: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	runs := sqlite.NewRuns(dir, slog.New(slog.DiscardHandler))
	t.Cleanup(func() { _ = runs.Close() })
	kept := files.Open(filepath.Join(dir, "results"), nil)
	b := newBroker(t, broker.Deps{
		Audit:    store,
		Runs:     runs,
		Results:  kept,
		Values:   kept,
		Requests: files.OpenDocuments(filepath.Join(dir, "requests")),
		Vault:    vault.New(filepath.Join(dir, "tokens.sealed"), nil, slog.New(slog.DiscardHandler)),
	}, broker.Settings{
		Servers: []upstream.Config{
			listing(t, "crm", listedTool{Name: "get_contact", Description: "Get a contact.", InputSchema: stringParams("text"), Annotations: readOnly}),
			listing(t, "mail", listedTool{Name: "send_mail", Description: "Send a mail.", InputSchema: stringParams("text")}),
		},
		Profiles: map[string]policy.Profile{"crm": {Name: "crm", Servers: []string{"crm"}, Allow: all}},
		Redact:   vault.Settings{Secrets: true, Personal: true, Reveal: patterns},
	})
	b.Refresh(t.Context())
	return b
}

// A secret and an address that a script prints, returns, throws and stores are
// tokens in all that the model gets, and are nowhere in what is recorded; the
// script has them as they are.
func TestSecretsDoNotLeave(t *testing.T) {
	dir := t.TempDir()
	b := hidingBroker(t, dir)
	secret, mail := "gh"+"p_"+strings.Repeat("a1B2", 9), "kim@"+"acme-mail.com"
	read := `const r = await callMCPTool('crm__get_contact', {text: ['gh', 'p_', 'a1B2'.repeat(9)].join('') + ' ' + ['kim', 'acme-mail.com'].join('@')});
		const token = r.match(/ghp_\w+/)[0], mail = r.match(/\w+@\w+[\w.-]+/)[0];`
	for _, version := range versions {
		cs := connect(t, b, version, nil)
		for name, code := range map[string]string{
			"printed":     `console.log(token, mail); console.error({token, mail})`,
			"returned":    `return {password: token, list: [mail], json: JSON.stringify({mail, token})}`,
			"thrown":      `throw new Error('for ' + mail + ' with ' + token)`,
			"of a tool":   `await callMCPTool('crm__nothing for ' + token + ' ' + mail, {})`,
			"whole":       `store.set('k', token); return {same: token.length === 40 && mail.length === 17, long: (mail + ' ').repeat(2000)}`,
			"in pieces":   `console.log('x'.repeat(6000) + ' ' + token + ' ' + 'y '.repeat(20000) + mail)`,
			"of a search": `return await tools.search(mail)`,
		} {
			text, _ := call(t, cs, "execute_code", map[string]any{"code": read + code})
			if strings.Contains(text, secret) || strings.Contains(text, mail) || strings.Contains(text, "acme-mail") {
				t.Errorf("%s, %s: %s", version, name, text)
			}
			if !json.Valid([]byte(text)) || name != "of a search" && !tokenForm.MatchString(text) || name == "whole" && (!strings.Contains(text, `"same":true`) || strings.Contains(text, "kim@")) {
				t.Errorf("%s, %s: %s", version, name, text)
			}
		}
		text, _ := call(t, cs, "search_tools", map[string]any{"query": mail + " " + secret})
		if strings.Contains(text, secret) || strings.Contains(text, mail) {
			t.Errorf("search: %s", text)
		}
	}
	// The journal has what a run needs to be repeated; it is not shown.
	for _, name := range []string{"audit.db", "audit.db-wal", "tokens.sealed"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if strings.Contains(string(data), secret) || name == "tokens.sealed" && (len(data) == 0 || strings.Contains(string(data), mail)) {
			t.Errorf("%s has what is to be hidden", name)
		}
	}
}

// A token goes back to its value for the server that it came from and for those
// that are listed, and to no other one, whoever asks.
func TestTokensGoBackWhereTheyCameFrom(t *testing.T) {
	mail := "kim@" + "acme-mail.com"
	for listed, want := range map[string]string{"": `"code":"token_not_allowed"`, "mail.send_*": `"sent":true`} {
		var reveal []string
		if listed != "" {
			reveal = []string{listed}
		}
		b := hidingBroker(t, t.TempDir(), reveal...)
		cs := connect(t, b, versions[0], nil)
		text, _ := call(t, cs, "execute_code", map[string]any{"code": `return await callMCPTool('crm__get_contact', {text: ['kim', 'acme-mail.com'].join('@')})`})
		token := tokenForm.FindString(text)
		code := `const back = await callMCPTool('crm__get_contact', {text: '` + token + `'});
			const out = {back: back.includes(['kim', 'acme-mail.com'].join('@')), literal: '` + token + `'.length};
			try { const r = await callMCPTool('mail__send_mail', {text: 'to ` + token + `'}); out.sent = r.includes(['kim', 'acme-mail.com'].join('@')) } catch (e) { out.code = e.code; out.why = e.message; out.hint = e.hint }
			try { await callMCPTool('crm__get_contact', {text: '«email:1·aaaaaa»'}) } catch (e) { out.other = e.code }
			return out`
		text, _ = call(t, cs, "execute_code", map[string]any{"code": code})
		if !strings.Contains(text, want) || !strings.Contains(text, `"back":true`) || strings.Contains(text, mail) || !strings.Contains(text, `"other":"token_not_allowed"`) {
			t.Errorf("reveal %q: %s", listed, text)
		}
		if listed == "" && !strings.Contains(text, `it came from crm`) {
			t.Errorf("%s", text)
		}
	}
}
