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
	class   class
	least   int
	begins  []string
}{
	{"GitHub", word, 16, []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"}},
	{"GitLab", dotted, 16, []string{"glpat-", "gldt-", "glrt-", "glrtr-", "glptt-", "glft-", "glsoat-", "glcbt-", "glagent-", "gloas-", "glimt-", "glffct-", "glwt-", "GR1348941"}},
	{"Slack", dotted, 8, []string{"xoxa-", "xoxb-", "xoxc-", "xoxd-", "xoxe-", "xoxe.", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xapp-"}},
	{"Stripe, OpenAI, Anthropic, Clerk and others", word, 16, []string{"sk-", "sk_", "pk_", "rk_"}},
	{"Stripe", base64, 16, []string{"whsec_"}},
	{"AWS", word, 16, []string{"AKIA", "ASIA", "ABIA", "ACCA"}},
	{"AWS Bedrock", base64, 60, []string{"ABSK"}},
	{"Google", word, 30, []string{"AIza"}},
	{"Google", dotted, 16, []string{"ya29.", "GOCSPX-", "1//0"}},
	{"OpenAI", word, 32, []string{"sess-"}},
	{"Hugging Face", word, 24, []string{"hf_", "api_org_"}},
	{"npm", word, 24, []string{"npm_"}},
	{"PyPI", word, 16, []string{"pypi-"}},
	{"RubyGems, crates.io, NuGet, Clojars", word, 32, []string{"rubygems_", "cio", "oy2", "CLOJARS_"}},
	{"SendGrid", dotted, 32, []string{"SG."}},
	{"Brevo, Mailgun, Resend", word, 24, []string{"xkeysib-", "xsmtpsib-", "pubkey-", "re_"}},
	{"Mailgun", hexadecimal, 32, []string{"key-"}},
	{"Twilio", hexadecimal, 32, []string{"SK", "AC"}},
	{"Shopify", word, 24, []string{"shpat_", "shpca_", "shppa_", "shpss_", "shpua_", "shptka_"}},
	{"Square", word, 20, []string{"sq0atp-", "sq0csp-", "sq0idp-"}},
	{"Square, Facebook", word, 40, []string{"EAAA", "EAAC", "EAAB", "EAAG"}},
	{"Vault", dotted, 20, []string{"hvs.", "hvb.", "hvr."}},
	{"Vault before 1.10", letters, 24, []string{"s."}},
	{"Doppler", dotted, 32, []string{"dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."}},
	{"Databricks", word, 32, []string{"dapi", "dose"}},
	{"DigitalOcean", word, 32, []string{"dop_v1_", "doo_v1_", "dor_v1_"}},
	{"Atlassian", base64, 20, []string{"ATATT3", "ATCTT3", "ATSTT3", "ATBB"}},
	{"Linear", word, 20, []string{"lin_api_", "lin_oauth_", "lin_wh_"}},
	{"Notion", word, 32, []string{"ntn_", "secret_"}},
	{"Figma", word, 20, []string{"figd_", "figo_", "figu_", "figor_", "figoh_", "figuh_"}},
	{"Docker", word, 16, []string{"dckr_pat_", "dckr_oat_"}},
	{"Grafana", base64, 20, []string{"glsa_", "glc_"}},
	{"Sentry", base64, 24, []string{"sntrys_", "sntryu_", "sntrya_"}},
	{"New Relic", word, 20, []string{"NRAK-", "NRAA-", "NRII-", "NRJS-"}},
	{"Dynatrace", dotted, 60, []string{"dt0c01.", "dt0s01.", "dt0s16."}},
	{"Postman", word, 40, []string{"PMAK-"}},
	{"PlanetScale, Supabase, Neon", dotted, 20, []string{"pscale_tkn_", "pscale_pw_", "pscale_oauth_", "sbp_", "sb_secret_", "napi_"}},
	{"Netlify, Vercel, Heroku, Fly, Render, Cloudflare", base64, 24, []string{"nfp_", "vcp_", "HRKU-", "fo1_", "fm1_", "fm2_", "rnd_", "cfut_", "cfat_", "v1.0-"}},
	{"CircleCI, Buildkite, SonarQube, Pulumi, Terraform", word, 24, []string{"CCIPAT_", "CCIPRJ_", "bkua_", "squ_", "sqp_", "sqa_", "pul-"}},
	{"HubSpot", word, 32, []string{"pat-na1-", "pat-na2-", "pat-eu1-"}},
	{"Groq, Perplexity, xAI, Replicate, Tavily, Fireworks, Exa", word, 24, []string{"gsk_", "pplx-", "xai-", "r8_", "tvly-", "fw_", "jina_", "nvapi-"}},
	{"Tailscale, 1Password, age, JFrog, Alibaba", word, 16, []string{"tskey-", "ops_eyJ", "AGE-SECRET-KEY-1", "AKCp", "LTAI"}},
	{"Contentful, Typeform, Prefect, ReadMe, Shippo", word, 24, []string{"CFPAT-", "tfp_", "pnu_", "rdme_", "shippo_live_", "shippo_test_"}},
	{"Plaid", word, 32, []string{"access-sandbox-", "access-development-", "access-production-"}},
}

// A shape is how a secret looks in a text that no prefix betrays, and that is no
// part of an address. What with
// names by $1 and $2 is kept.
type shape struct {
	// hints are what a text has to contain, in lower case and at least one of
	// them, for the expression to be worth its time, which is a thousand times
	// as long as looking for a hint.
	hints []string
	expr  func() *regexp.Regexp
	with  string
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

// assignment is a name of a secret with what stands between it and the value,
// as in password=… and "api_key": …; "unexpected token: x" is none.
const assignment = `(?i)((?:(?:password|passwd|passphrase|[_-]pass|secret|(?:api|secret|access|private|account|signing|encryption)[_-]?key|cookie|credentials?)["']?\s*[=:]|token(?:["']\s*[=:]| ?=))\s*`

// assigned are those names, in lower case.
var assigned = func() []string {
	list := []string{"password", "passwd", "passphrase", "_pass", "-pass", "secret", "cookie", "credential", `token"`, "token'", "token=", "token ="}
	for _, what := range []string{"api", "access", "private", "account", "signing", "encryption"} {
		list = append(list, what+"key", what+"_key", what+"-key")
	}
	return list
}()

// value is what follows an assignment without quotes.
const value = `[^\s"'&,;(){}\[\]]`

var shapes = []shape{
	{[]string{"-----begin"}, lazily(`-----BEGIN [A-Z ]*PRIVATE KEY[A-Z ]*-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY[A-Z ]*-----|\z)`), Hidden},
	{[]string{"eyj"}, lazily(`\beyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*){0,3}`), Hidden},
	// Azure: secrets of applications, keys of DevOps, search and functions, keys
	// of storage and databases, signatures of shared access.
	{[]string{"q~"}, lazily(`[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{30,}`), Hidden},
	{[]string{"azdo", "azse", "azfu", "azca"}, lazily(`\b[A-Za-z0-9_-]{30,}(?:AZDO|AzSe|AzFu|AzCa)[A-Za-z0-9_-]{4,}=*`), Hidden},
	{[]string{"=="}, lazily(`[A-Za-z0-9+/]{86}==`), Hidden},
	{[]string{"sig="}, lazily(`(?i)([?&;"]sig=)[A-Za-z0-9%+/=_-]{20,}`), "${1}" + Hidden},
	{[]string{"atlasv1."}, lazily(`\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{40,}`), Hidden},                      // Terraform
	{[]string{":aa"}, lazily(`\b[0-9]{8,10}:AA[A-Za-z0-9_-]{33}`), Hidden},                                        // Telegram
	{[]string{hintRunDot}, lazily(`\b[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6,7}\.[A-Za-z0-9_-]{27,}`), Hidden}, // Discord
	{[]string{hintRunDot}, lazily(`\bpat[A-Za-z0-9]{14}\.[a-f0-9]{64}\b`), Hidden},                                // Airtable
	{[]string{hintRun}, lazily(`\b[a-f0-9]{32}-(?:us[0-9]{1,2}|[a-f0-9]{8}-[a-f0-9]{8})\b`), Hidden},              // Mailchimp, Mailgun
	{[]string{"hooks.slack.com/", "/api/webhooks/"}, lazily(`(hooks\.slack\.com/(?:services|workflows|triggers)/|/api/webhooks/[0-9]+/)[A-Za-z0-9_/-]{16,}`), "${1}" + Hidden},
	{[]string{"access_token$"}, lazily(`access_token\$(?:production|sandbox)\$[A-Za-z0-9$]{16,}`), Hidden}, // PayPal, Braintree

	{[]string{"bearer", "basic"}, lazily(`(?i)\b((?:bearer|basic)\s+)[A-Za-z0-9._~+/-]*[0-9._~+/=][A-Za-z0-9._~+/=-]{6,}`), "${1}" + Hidden},
	{[]string{"authorization"}, lazily(`(?i)(authorization["']?\s*[:=]\s*["']?)[^"'\r\n,;}]+`), "${1}" + Hidden},
	{assigned, lazily(assignment + `)"(?:[^"\\]|\\.)*"`), `${1}"` + Hidden + `"`},
	{assigned, lazily(assignment + `["']?)` + value + `{3,}`), "${1}" + Hidden},
	{[]string{"pwd"}, lazily(`(?i)(pwd["']?\s*[=:]\s*["']?)[^\s"'&,;(){}\[\]/~]` + value + `{2,}`), "${1}" + Hidden}, // a path is the shell's PWD
}
