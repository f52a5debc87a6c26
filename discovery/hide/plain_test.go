package hide

import "testing"

func TestPlainReferences(t *testing.T) {
	for _, tt := range []struct{ reference, setting, value string }{
		{"${HOME}", "", "/home/jane.doe42"}, {"${USER}", "", "jane.doe42"}, {"${PWD}", "", "/srv/notes-2026/app"}, {"${LANG}", "", "de_DE.UTF-8"}, {"${LC_ALL}", "", "en_US.UTF-8"},
		{"${TMPDIR}", "", "/var/folders/zz/zyxvpxvq6csfxvn_n0000000000000/T/"}, {"${PATH}", "", "/usr/local/bin:/usr/bin:/bin"}, {"${SHELL}", "", "/usr/bin/zsh"},
		{"${TZ}", "", "Europe/Berlin"}, {"${env:HOME}", "cwd", "/root/x"}, {"${workspaceFolder}", "", "/srv/app/one"},
		{"${PORT:-8080}", "", "18080"}, {"${VERBOSE}", "", "false"}, {"${AWS_REGION}", "AWS_REGION", "eu-central-1"}, {"${PGHOST}", "", "localhost"},
		{"${API_URL}", "", "https://api.example.com:8443/v1/items"}, {"${STAGE}", "", "production"}, {"${LIMIT}", "", "100000"}, {"${DB_NAME}", "", "orders_2026"},
	} {
		if !PlainReference(tt.reference, tt.setting, tt.value) {
			t.Errorf("%s = %s in %q is hidden", tt.reference, tt.value, tt.setting)
		}
	}
	for _, tt := range []struct{ reference, setting, value string }{
		{"${GITHUB_TOKEN}", "", "production"}, {"${DB_PW}", "", "swordfish"}, {"${PASS}", "", "swordfish"}, {"${STRIPE_KEY}", "", "abcdef"}, {"${SESSION}", "", "abcdefg"},
		{"${FOO}", "", "ghp_abcdefghijklmnopqrstuvwxyz0123456789"}, {"${FOO}", "", "s3cr3t+9"}, {"${FOO}", "", "Tr0ub4dor&3"}, {"${FOO}", "", "4f1c2d3e-0000-1111-2222-333344445555"},
		{"${HOME}", "", "ghp_abcdefghijklmnopqrstuvwxyz0123456789"}, {"${FOO}", "", "abcdefghijklmnopqrstuvwxyz"}, {"${FOO}", "", "/3k9AbCxYzQwErTyUiOpAsDf"},
		{"${API_URL}", "", "https://me:pw@example.com/"}, {"${API_URL}", "", "https://example.com/?x=1"}, {"${API_URL}", "", "https://hooks.example.com/T00/B00/a1b2c3d4e5f6g7h8i9"},
		{"${STAGE}", "API_TOKEN", "production"}, {"${STAGE}", "Authorization", "production"}, {"${STAGE}", "x-api-key", "production"}, {"${NUMBER}", "", "12345678"},
		{"${keyring:stage}", "", "production"}, {"${person:stage}", "", "production"}, {"op://a/b/c", "", "production"}, {"command://echo production", "", "production"},
		{"${op://a/b/c}", "", "production"}, {"${command://echo x}", "", "production"},
	} {
		if PlainReference(tt.reference, tt.setting, tt.value) {
			t.Errorf("%s = %s in %q is shown", tt.reference, tt.value, tt.setting)
		}
	}
}
