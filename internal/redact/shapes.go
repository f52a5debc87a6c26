package redact

import (
	"regexp"
	"sync"
)

// A class is which characters a token is made of after its prefix.
type class uint8

const (
	word        class = iota // letters, digits, "_" and "-"
	dotted                   // and dots
	base64                   // word, and "+", "/" and "="
	hexadecimal              // hexadecimal digits, exactly so many
	letters                  // letters and digits, both and exactly so many
)

// Prefixes are the published beginnings of tokens, each with how many characters
// follow at least.
var prefixes = []struct {
	service string
	kind    string
	class   class
	least   int
	begins  []string
}{
	{"GitHub", "github_token", word, 16, []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"}},
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
	{"Plaid", "plaid_token", word, 32, []string{"access-sandbox-", "access-development-", "access-production-"}},
}

// A shape is how a secret looks in a text that no prefix betrays, and that is no
// part of an address.
type shape struct {
	kind string
	// hints are what a text has to contain, in lower case and at least one of
	// them, for the expression to be worth its time, which is a thousand times
	// as long as looking for a hint.
	hints []string
	// before and after are how far from the hint a match may begin and end; if
	// before is 0, it begins at the hint, and if it is 1, as a word of its own.
	before, after int
	// The first group of the expression that is not empty is the secret; without
	// groups all of it is.
	expr func() *regexp.Regexp
}

// Hints that are no text: a run of at least so many characters of class word,
// the second with a dot behind it.
const (
	hintRun    = "\x00run"
	hintRunDot = "\x00dot"
	runLength  = 32
	dotLength  = 17
)

// lazily is an expression that is compiled when it is needed first: most
// processes never need one.
func lazily(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// atHint is lazily for an expression that matches nothing but what begins at the
// beginning of a text.
func atHint(expr string) func() *regexp.Regexp { return lazily(`^(?:` + expr + `)`) }

// assignment is a name of a secret with what stands between it and the value,
// as in password=… and "api_key": …; "unexpected token: x" is none.
const assignment = `(?i)(?:(?:password|passwd|passphrase|[_-]pass|secret|(?:api|secret|access|private|account|signing|encryption|auth)[_-]?key|cookie|credentials?)["']?\s*[=:]|token(?:["']\s*[=:]| ?=))\s*`

// assigned are those names, in lower case.
var assigned = func() []string {
	list := []string{"password", "passwd", "passphrase", "_pass", "-pass", "secret", "cookie", "credential", `token"`, "token'", "token=", "token ="}
	for _, what := range []string{"api", "access", "private", "account", "signing", "encryption", "auth"} {
		list = append(list, what+"key", what+"_key", what+"-key")
	}
	return list
}()

// value is what follows an assignment without quotes.
const value = `[^\s"'&,;(){}\[\]]`

// generic is the kind of a secret that only its name betrays.
const generic = "generic_secret"

var shapes = []shape{
	{"jwt", []string{"eyj"}, 1, 16 << 10, atHint(`eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*){0,3}`)},
	// Azure: secrets of applications, keys of DevOps, search and functions, keys
	// of storage and databases, signatures of shared access.
	{"azure_secret", []string{"q~"}, 8, 80, lazily(`[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{30,}`)},
	{"azure_key", []string{"azdo", "azse", "azfu", "azca"}, 100, 60, lazily(`\b[A-Za-z0-9_-]{30,}(?:AZDO|AzSe|AzFu|AzCa)[A-Za-z0-9_-]{4,}=*`)},
	{"azure_key", []string{"=="}, 90, 2, lazily(`[A-Za-z0-9+/]{86}==`)},
	{"azure_signature", []string{"sig="}, 2, 200, lazily(`(?i)[?&;"]sig=([A-Za-z0-9%+/=_-]{20,})`)},
	{"terraform_token", []string{"atlasv1."}, 20, 120, lazily(`\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{40,}`)},
	{"telegram_token", []string{":aa"}, 12, 60, lazily(`\b[0-9]{8,10}:AA[A-Za-z0-9_-]{33}`)},
	{"discord_token", []string{hintRunDot}, 40, 120, lazily(`\b[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6,7}\.[A-Za-z0-9_-]{27,}`)},
	{"airtable_token", []string{hintRunDot}, 40, 120, lazily(`\bpat[A-Za-z0-9]{14}\.[a-f0-9]{64}\b`)},
	{"mail_service_key", []string{hintRun}, 40, 60, lazily(`\b[a-f0-9]{32}-(?:us[0-9]{1,2}|[a-f0-9]{8}-[a-f0-9]{8})\b`)}, // Mailchimp, Mailgun
	{"webhook_url", []string{"hooks.slack.com/", "/api/webhooks/"}, 0, 240, atHint(`(?:hooks\.slack\.com/(?:services|workflows|triggers)/|/api/webhooks/[0-9]+/)([A-Za-z0-9_/-]{16,})`)},
	{"paypal_token", []string{"access_token$"}, 0, 160, atHint(`access_token\$(?:production|sandbox)\$[A-Za-z0-9$]{16,}`)}, // and Braintree

	{"bearer_token", []string{"bearer", "basic"}, 1, 4 << 10, atHint(`(?i)(?:bearer|basic)\s+([A-Za-z0-9._~+/-]*[0-9._~+/=][A-Za-z0-9._~+/=-]{6,})`)},
	{generic, []string{"authorization"}, 0, 4 << 10, atHint(`(?i)authorization["']?\s*[:=]\s*["']?(?:bearer\s+|basic\s+|token\s+)?([^\s"'\r\n,;}][^"'\r\n,;}]*)`)},
	{generic, assigned, 0, 4 << 10, atHint(assignment + `"((?:[^"\\]|\\.)*)"`)},
	{generic, assigned, 0, 4 << 10, atHint(assignment + `["']?(` + value + `{3,})`)},
	{generic, []string{"pwd"}, 0, 512, atHint(`(?i)pwd["']?\s*[=:]\s*["']?([^\s"'&,;(){}\[\]/~]` + value + `{2,})`)}, // a path is the shell's PWD
	{generic, []string{"token:"}, 0, 512, atHint(`(?i)token:\s*([A-Za-z0-9_./+=~-]{16,})`)},
	{generic, []string{"--password", "--token", "--secret", "--api-key", "--apikey"}, 0, 512, atHint(`(?i)--(?:password|token|secret|api-?key)[ =]["']?(` + value + `{6,})`)},
	{generic, []string{"<password", "<secret", "<token", "<apikey", "<api_key"}, 0, 512, atHint(`(?i)<(?:password|secret|token|api_?key)>([^<\s]{4,})<`)},
}
