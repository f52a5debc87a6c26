package redact

import (
	"regexp"
	"sync"
)

// A class is the set of characters of a token after its prefix.
type class uint8

const (
	word        class = iota // letters, digits, "_" and "-"
	dotted                   // and dots
	base64                   // word, and "+", "/" and "="
	hexadecimal              // hexadecimal digits, exactly that many
	letters                  // letters and digits, both occurring, exactly that many
)

// prefixes are the published prefixes of tokens, with the least number of characters after them.
var prefixes = []struct {
	service string
	kind    string
	class   class
	least   int
	begins  []string
}{
	{"GitHub", "github_token", word, 16, []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"}},
	{"This broker", "broker_token", word, 64, []string{"brk_"}},
	{"GitLab", "gitlab_token", dotted, 16, []string{"glpat-", "gldt-", "glrt-", "glrtr-", "glptt-", "glft-", "glsoat-", "glcbt-", "glagent-", "gloas-", "glimt-", "glffct-", "glwt-", "GR1348941"}},
	{"Slack", "slack_token", dotted, 8, []string{"xoxa-", "xoxb-", "xoxc-", "xoxd-", "xoxe-", "xoxe.", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xapp-"}},
	{"Anthropic", "anthropic_key", word, 16, []string{"sk-ant-"}},
	{"Stripe", "stripe_key", word, 16, []string{"sk_live_", "sk_test_", "rk_live_", "rk_test_", "pk_live_", "pk_test_"}},
	{"OpenRouter", "openrouter_key", word, 16, []string{"sk-or-"}},
	{"OpenAI", "openai_key", word, 16, []string{"sk-"}},
	{"Clerk and others", "secret_key", word, 16, []string{"sk_", "pk_", "rk_"}},
	{"Stripe", "stripe_key", base64, 16, []string{"whsec_"}},
	{"AWS", "aws_access_key", word, 16, []string{"AKIA", "ASIA", "ABIA", "ACCA"}},
	{"AWS Bedrock", "aws_bedrock_key", base64, 60, []string{"ABSK"}},
	{"Google", "google_api_key", word, 30, []string{"AIza"}},
	{"Google", "google_token", dotted, 16, []string{"ya29.", "GOCSPX-", "1//0"}},
	{"OpenAI", "openai_key", word, 32, []string{"sess-"}},
	{"Hugging Face", "huggingface_token", word, 24, []string{"hf_", "api_org_"}},
	{"npm", "npm_token", word, 24, []string{"npm_"}},
	{"PyPI", "pypi_token", word, 16, []string{"pypi-"}},
	{"RubyGems, crates.io, NuGet, Clojars", "package_registry_token", word, 32, []string{"rubygems_", "cio", "oy2", "CLOJARS_"}},
	{"SendGrid", "sendgrid_key", dotted, 32, []string{"SG."}},
	{"Brevo, Mailgun, Resend", "email_service_key", word, 24, []string{"xkeysib-", "xsmtpsib-", "pubkey-", "re_"}},
	{"Mailgun", "mailgun_key", hexadecimal, 32, []string{"key-"}},
	{"Twilio", "twilio_key", hexadecimal, 32, []string{"SK", "AC"}},
	{"Shopify", "shopify_token", word, 24, []string{"shpat_", "shpca_", "shppa_", "shpss_", "shpua_", "shptka_"}},
	{"Square", "square_token", word, 20, []string{"sq0atp-", "sq0csp-", "sq0idp-"}},
	{"Square, Facebook", "access_token", word, 40, []string{"EAAA", "EAAC", "EAAB", "EAAG"}},
	{"Vault", "vault_token", dotted, 20, []string{"hvs.", "hvb.", "hvr."}},
	{"Vault before 1.10", "vault_token", letters, 24, []string{"s."}},
	{"Doppler", "doppler_token", dotted, 32, []string{"dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."}},
	{"Databricks", "databricks_token", word, 32, []string{"dapi", "dose"}},
	{"DigitalOcean", "digitalocean_token", word, 32, []string{"dop_v1_", "doo_v1_", "dor_v1_"}},
	{"Atlassian", "atlassian_token", base64, 20, []string{"ATATT3", "ATCTT3", "ATSTT3", "ATBB"}},
	{"Linear", "linear_key", word, 20, []string{"lin_api_", "lin_oauth_", "lin_wh_"}},
	{"Notion", "notion_token", word, 32, []string{"ntn_", "secret_"}},
	{"Figma", "figma_token", word, 20, []string{"figd_", "figo_", "figu_", "figor_", "figoh_", "figuh_"}},
	{"Docker", "docker_token", word, 16, []string{"dckr_pat_", "dckr_oat_"}},
	{"Grafana", "grafana_token", base64, 20, []string{"glsa_", "glc_"}},
	{"Sentry", "sentry_token", base64, 24, []string{"sntrys_", "sntryu_", "sntrya_"}},
	{"New Relic", "newrelic_key", word, 20, []string{"NRAK-", "NRAA-", "NRII-", "NRJS-"}},
	{"Dynatrace", "dynatrace_token", dotted, 60, []string{"dt0c01.", "dt0s01.", "dt0s16."}},
	{"Postman", "postman_key", word, 40, []string{"PMAK-"}},
	{"PlanetScale, Supabase, Neon", "database_token", dotted, 20, []string{"pscale_tkn_", "pscale_pw_", "pscale_oauth_", "sbp_", "sb_secret_", "napi_"}},
	{"Netlify, Vercel, Heroku, Fly, Render, Cloudflare", "hosting_token", base64, 24, []string{"nfp_", "vcp_", "HRKU-", "fo1_", "fm1_", "fm2_", "rnd_", "cfut_", "cfat_", "v1.0-"}},
	{"CircleCI, Buildkite, SonarQube, Pulumi, Terraform", "ci_token", word, 24, []string{"CCIPAT_", "CCIPRJ_", "bkua_", "squ_", "sqp_", "sqa_", "pul-"}},
	{"HubSpot", "hubspot_token", word, 32, []string{"pat-na1-", "pat-na2-", "pat-eu1-"}},
	{"Groq, Perplexity, xAI, Replicate, Tavily, Fireworks, Exa", "ai_key", word, 24, []string{"gsk_", "pplx-", "xai-", "r8_", "tvly-", "fw_", "jina_", "nvapi-"}},
	{"Tailscale, 1Password, age, JFrog, Alibaba", "secret_key", word, 16, []string{"tskey-", "ops_eyJ", "AGE-SECRET-KEY-1", "AKCp", "LTAI"}},
	{"Contentful, Typeform, Prefect, ReadMe, Shippo", "service_token", word, 24, []string{"CFPAT-", "tfp_", "pnu_", "rdme_", "shippo_live_", "shippo_test_"}},
	{"Airtable", "airtable_token", dotted, 70, []string{"pat"}},
	{"Plaid", "plaid_token", word, 32, []string{"access-sandbox-", "access-development-", "access-production-"}},
}

// A shape describes a secret without a known prefix.
type shape struct {
	kind string
	// hint is its beginning or a part of it, in lower case: searching for it is a thousand times
	// faster than the expression.
	hint string
	// before is the largest distance from the beginning of a match to the hint; 0 means at the
	// hint, and -1 at the hint as a word of its own. after is the largest distance to the end.
	before, after int
	// The first group of the expression is the secret; without groups, the whole match.
	expr func() *regexp.Regexp
}

// lazily returns an expression that is compiled on first use: most processes never need one.
func lazily(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

const azure = `\b[A-Za-z0-9_-]{30,}(?:AZDO|AzSe)[A-Za-z0-9_-]{4,}=*`

const bearer = `^(?i:bearer|basic)\s+([A-Za-z0-9._~+/-]*[0-9._~+/=][A-Za-z0-9._~+/=-]{6,})`

var shapes = []shape{
	{"jwt", "eyj", -1, 16 << 10, lazily(`^eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*){0,3}`)},
	{"azure_secret", "q~", 8, 80, lazily(`[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{30,}`)},
	{"azure_key", "azdo", 100, 60, lazily(azure)},
	{"azure_key", "azse", 100, 60, lazily(azure)},
	{"azure_key", "==", 90, 2, lazily(`[A-Za-z0-9+/]{86}==`)},
	{"azure_signature", "sig=", 1, 200, lazily(`(?i)[?&;"]sig=([A-Za-z0-9%+/=_-]{20,})`)},
	{"terraform_token", "atlasv1.", 20, 120, lazily(`\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{40,}`)},
	{"telegram_token", ":aa", 12, 60, lazily(`\b[0-9]{8,10}:AA[A-Za-z0-9_-]{33}`)},
	{"webhook_url", "hooks.slack.com/", 0, 240, lazily(`^hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9_/-]{16,})`)},
	{"webhook_url", "/api/webhooks/", 0, 240, lazily(`^/api/webhooks/[0-9]+/([A-Za-z0-9_/-]{16,})`)},
	{"paypal_token", "access_token$", 0, 160, lazily(`^access_token\$(?:production|sandbox)\$[A-Za-z0-9$]{16,}`)}, // and Braintree
	{"bearer_token", "bearer", -1, 4 << 10, lazily(bearer)},
	{"bearer_token", "basic", -1, 4 << 10, lazily(bearer)},
	{generic, "authorization", 0, 4 << 10, lazily(`(?i)^authorization["']?\s*[:=]\s*["']?(?:bearer\s+|basic\s+|token\s+)?([^\s"'\r\n,;}][^"'\r\n,;}]*)`)},
}

// framed are the kinds of secrets that are recognized by their surroundings: a name, a
// frame, the rest of an address. The author of a text can make anything look like one.
var framed = []string{generic, "url_password", "private_key", "bearer_token", "webhook_url", "azure_signature"}

// generic is the kind of a secret that only its name identifies.
const generic = "generic_secret"

// fields are names that precede a secret, in lower case, as in password=….
var fields = func() []string {
	list := []string{"password", "passwd", "passphrase", "_pass", "-pass", "pwd", "secret", "cookie", "credential", "credentials", "token"}
	for _, what := range []string{"api", "access", "private", "account", "signing", "encryption", "auth", "secret"} {
		list = append(list, what+"key", what+"_key", what+"-key")
	}
	return list
}()
