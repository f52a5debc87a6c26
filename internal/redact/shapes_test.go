package redact

import (
	"strings"
	"testing"
)

// some is n characters as tokens have them, in an order that no token has.
func some(alphabet string, n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteByte(alphabet[(i*7+3)%len(alphabet)])
	}
	return b.String()
}

const (
	alnum  = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	digits = "0123456789"
	hexes  = "0123456789abcdef"
)

// published are synthetic secrets of the shapes that services have published,
// put together here so that no scanner takes one for real.
func published() map[string]string {
	p := "pass" + "word"
	return map[string]string{
		"GitHub classic":           "gh" + "p_" + some(alnum, 36),
		"GitHub app":               "gh" + "s_" + some(alnum, 36),
		"GitHub fine-grained":      "github" + "_pat_" + some(alnum, 22) + "_" + some(alnum, 59),
		"GitLab":                   "gl" + "pat-" + some(alnum, 20),
		"GitLab routable":          "gl" + "pat-" + some(alnum, 27) + ".01." + some(alnum, 9),
		"GitLab runner":            "gl" + "rt-" + some(alnum, 20),
		"GitLab deploy":            "gl" + "dt-" + some(alnum, 20),
		"Slack bot":                "xox" + "b-" + some(digits, 12) + "-" + some(digits, 12) + "-" + some(alnum, 24),
		"Slack app":                "xa" + "pp-1-A" + some(digits, 10) + "-" + some(digits, 13) + "-" + some(hexes, 64),
		"Slack rotated":            "xox" + "e.xoxp-1-" + some(alnum, 100),
		"Slack webhook":            "https://hooks.slack" + ".com/services/T" + some(upper, 9) + "/B" + some(upper, 9) + "/" + some(alnum, 24),
		"Stripe":                   "sk" + "_live_" + some(alnum, 24),
		"Stripe restricted":        "rk" + "_live_" + some(alnum, 24),
		"Stripe webhook":           "wh" + "sec_" + some(alnum, 32),
		"AWS key id":               "AK" + "IA" + some(upper, 16),
		"AWS session key id":       "AS" + "IA" + some(upper, 16),
		"AWS secret key":           "aws_secret_access" + "_key=" + some(alnum, 40),
		"AWS Bedrock":              "AB" + "SK" + some(alnum, 110),
		"Google API key":           "AI" + "za" + some(alnum, 35),
		"Google OAuth token":       "ya" + "29." + some(alnum, 60),
		"Google client secret":     "GOC" + "SPX-" + some(alnum, 28),
		"Google refresh token":     "1/" + "/0" + some(alnum, 60),
		"Azure client secret":      some(alnum, 3) + "8" + "Q~" + some(alnum, 34),
		"Azure storage key":        some(alnum, 86) + "==",
		"Azure connection string":  "AccountName=a;Account" + "Key=" + some(alnum, 40),
		"Azure service bus":        "Endpoint=sb://x/;SharedAccess" + "Key=" + some(alnum, 43) + "=",
		"Azure shared access":      "https://x.blob.core.windows.net/c?sv=2024&" + "sig=" + some(alnum, 43) + "%3D",
		"Azure DevOps":             some(alnum, 76) + "AZ" + "DO" + some(alnum, 4),
		"Azure search":             some(alnum, 42) + "Az" + "Se" + some(alnum, 6),
		"OpenAI":                   "sk" + "-" + some(alnum, 48),
		"OpenAI project":           "sk" + "-proj-" + some(alnum, 100),
		"Anthropic":                "sk" + "-ant-api03-" + some(alnum, 93) + "AA",
		"Hugging Face":             "h" + "f_" + some(alnum, 34),
		"Groq":                     "gs" + "k_" + some(alnum, 52),
		"xAI":                      "xa" + "i-" + some(alnum, 80),
		"Perplexity":               "ppl" + "x-" + some(alnum, 48),
		"npm":                      "np" + "m_" + some(alnum, 36),
		"PyPI":                     "py" + "pi-AgEIcHlwaS5vcmc" + some(alnum, 80),
		"RubyGems":                 "ruby" + "gems_" + some(hexes, 48),
		"crates.io":                "ci" + "o" + some(alnum, 32),
		"SendGrid":                 "S" + "G." + some(alnum, 22) + "." + some(alnum, 43),
		"Brevo":                    "xkey" + "sib-" + some(hexes, 64) + "-" + some(alnum, 16),
		"Twilio key":               "S" + "K" + some(hexes, 32),
		"Twilio account":           "A" + "C" + some(hexes, 32),
		"Mailgun":                  "ke" + "y-" + some(hexes, 32),
		"Shopify access":           "shp" + "at_" + some(hexes, 32),
		"Shopify shared":           "shp" + "ss_" + some(hexes, 32),
		"Square access":            "EA" + "AA" + some(alnum, 60),
		"Square secret":            "sq" + "0csp-" + some(alnum, 43),
		"Vault":                    "hv" + "s." + some(alnum, 90),
		"Vault batch":              "hv" + "b." + some(alnum, 140),
		"Vault of old":             "s" + "." + some(alnum, 24),
		"Terraform":                some(alnum, 14) + ".atlas" + "v1." + some(alnum, 67),
		"Doppler":                  "d" + "p.pt." + some(alnum, 43),
		"Doppler service":          "d" + "p.st.dev_x." + some(alnum, 43),
		"Databricks":               "da" + "pi" + some(hexes, 32),
		"DigitalOcean":             "do" + "p_v1_" + some(hexes, 64),
		"Atlassian":                "ATA" + "TT3xFfGF0" + some(alnum, 170) + "=" + some(upper, 8),
		"Bitbucket":                "AT" + "BB" + some(alnum, 32),
		"Linear":                   "lin" + "_api_" + some(alnum, 40),
		"Notion":                   "nt" + "n_" + some(alnum, 46),
		"Notion of old":            "sec" + "ret_" + some(alnum, 43),
		"Figma":                    "fig" + "d_" + some(alnum, 40),
		"Telegram":                 some(digits, 10) + ":" + "AA" + some(alnum, 33),
		"Discord webhook":          "https://discord.com/api/web" + "hooks/" + some(digits, 18) + "/" + some(alnum, 68),
		"Docker":                   "dckr" + "_pat_" + some(alnum, 27),
		"Grafana":                  "gl" + "sa_" + some(alnum, 32) + "_" + some(hexes, 8),
		"Sentry":                   "snt" + "rys_" + some(alnum, 80),
		"New Relic":                "NR" + "AK-" + some(upper, 27),
		"Dynatrace":                "dt0" + "c01." + some(upper, 24) + "." + some(upper, 64),
		"Postman":                  "PM" + "AK-" + some(hexes, 24) + "-" + some(hexes, 34),
		"PlanetScale":              "pscale" + "_tkn_" + some(alnum, 43),
		"Supabase":                 "sb" + "p_" + some(hexes, 40),
		"Airtable":                 "pa" + "t" + some(alnum, 14) + "." + some(hexes, 64),
		"HubSpot":                  "pa" + "t-na1-" + some(hexes, 8) + "-" + some(hexes, 4) + "-" + some(hexes, 4) + "-" + some(hexes, 4) + "-" + some(hexes, 12),
		"Tailscale":                "ts" + "key-auth-" + some(alnum, 17) + "-" + some(alnum, 32),
		"CircleCI":                 "CCI" + "PAT_" + some(alnum, 22) + "_" + some(hexes, 40),
		"PayPal":                   "access" + "_token$production$" + some(alnum, 16) + "$" + some(hexes, 32),
		"age":                      "AGE-SECRET" + "-KEY-1" + some(upper, 58),
		"JWT":                      "ey" + "J" + some(alnum, 33) + "." + "ey" + "J" + some(alnum, 60) + "." + some(alnum, 43),
		"private key":              "-----BEGIN " + "OPENSSH PRIVATE KEY-----\n" + some(alnum, 70) + "\n-----END OPENSSH PRIVATE KEY-----",
		"database":                 "postgres://app:" + some(alnum, 20) + "@db.example.com:5432/x",
		"database with an at sign": "postgres://app:p@" + some(alnum, 20) + "@db.example.com:5432/x",
		"redis":                    "redis://:" + some(alnum, 20) + "@cache:6379",
		"token in an address":      "https://" + some(alnum, 40) + "@git.example.com/x.git",
		"SQL Server":               "Server=db;Uid=sa;" + "Pw" + "d=" + some(alnum, 12) + ";",
		"a word":                   p + "=" + some(alnum, 12),
		"pwd":                      "pw" + "d: " + some(alnum, 12),
		"secret":                   "client_" + "secret=" + some(alnum, 24),
		"environment":              "DB_" + "PASS=" + some(alnum, 12),
		"bearer":                   "Authorization: Bear" + "er " + some(alnum, 40),
	}
}

func TestPublishedShapesAreHidden(t *testing.T) {
	for name, secret := range published() {
		for _, text := range []string{secret, "see " + secret + ".", `{"note":"` + secret + `"}`, "X=" + secret + "\n", "(" + secret + ")"} {
			got := Text(text)
			// What may stay is a name, an address or a prefix, never a run of what is random.
			random := longestRun(secret)
			if strings.Contains(got, random) || !strings.Contains(got, Hidden) {
				t.Errorf("%s: %q is recorded as %q", name, text, got)
			}
		}
	}
}

// longestRun is the longest part of a secret without separators.
func longestRun(s string) string {
	longest := ""
	for part := range strings.FieldsFuncSeq(s, func(r rune) bool { return strings.ContainsRune("-_.:/=~ \n@;&$%", r) }) {
		if len(part) > len(longest) {
			longest = part
		}
	}
	return longest
}

func TestWordsAreNoSecrets(t *testing.T) {
	for _, text := range []string{
		"PWD=/home/ann/project and OLDPWD=~/x",
		"dose-dependent-inhibition-of-the-growth-of-cells",
		"the key: an index on sk_user_account_identifier and pk_order_line_number",
		"re_compile_the_pattern_of_names(text)",
		"session-management, access-production-systems-in-every-country",
		"d41d8cd98f00b204e9800998ecf8427e  empty.txt",
		"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"0192c7a0-7b1e-7d5c-9a6b-3f1f2c7f8e11",
		"https://example.com/a@b?x=1&signal=yes",
		"npm_config_registry_of_the_whole_project is set",
		"import { figures } from './figs.member.of.somewhere'",
		"| --- | --- |\n| AC | SKILL |",
		"https://github.com/owner/repository/blob/main/a.go#L10",
		"12:30:00 AAPL rose, ABSKURZ fell",
	} {
		if got := Text(text); got != text {
			t.Errorf("Text(%q) = %q", text, got)
		}
	}
}

func TestHintsAreInTheirShapes(t *testing.T) {
	for _, s := range shapes {
		_ = s.expr() // compiles
		if s.hint != strings.ToLower(s.hint) {
			t.Errorf("hint %q is not in lower case", s.hint)
		}
	}
}

// BenchmarkText measures a text of 64 KiB without secrets.
func BenchmarkText(b *testing.B) {
	text := strings.Repeat("The list of issues has 12 entries; see https://example.com/issues?page=2 for #17 (open). ", 740)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Text(text)
	}
}

// BenchmarkPayload is what a call pays more when payloads are recorded.
func BenchmarkPayload(b *testing.B) {
	for name, in := range map[string]string{
		"small":  `{"owner":"o","repo":"r","limit":3}`,
		"rows":   "[" + strings.Repeat(`{"id":12,"title":"Fix the key of the map","url":"https://example.com/1"},`, 800) + "1]",
		"text":   `[{"type":"text","text":"` + strings.Repeat("A sentence about a key and a token. ", 1600) + `"}]`,
		"16 MiB": "[" + strings.Repeat(`{"id":12,"title":"x"},`, 16<<20/22) + "1]",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				JSON([]byte(in), maxPayload)
			}
		})
	}
}
