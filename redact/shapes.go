package redact

// A charset is the bytes that may follow a prefix.
type charset [256]bool

func newCharset(more string) *charset {
	var c charset
	for b := byte('0'); b <= '9'; b++ {
		c[b] = true
	}
	for b := byte('a'); b <= 'z'; b++ {
		c[b], c[b-32] = true, true
	}
	for i := range len(more) {
		c[more[i]] = true
	}
	return &c
}

func only(all string) *charset {
	var c charset
	for i := range len(all) {
		c[all[i]] = true
	}
	return &c
}

var (
	alnum  = newCharset("")
	word   = newCharset("_-")
	dotted = newCharset("_-.=")
	coded  = newCharset("+/=")
	urlish = newCharset("_-+/=@.")

	dottedTilde = newCharset("_-.~")
	figures     = only("0123456789")
	hexadecimal = only("0123456789abcdefABCDEF")
)

// A shape is how a provider's secrets look: a prefix, spelled exactly so, and at
// least so many bytes of a set.
type shape struct {
	rule, prefix string
	body         *charset
	least        int
	// alone says that no letter or digit may stand before the prefix, which is
	// too short to be found inside a word otherwise.
	alone bool
}

// shapes are derived from the default configuration of gitleaks, at the commit
// b58d3f102cf3a2c84cb7f923d05c25c9b1aed84b of 2026-07-22
// (https://github.com/gitleaks/gitleaks, config/gitleaks.toml):
//
//	MIT License. Copyright (c) 2019 Zachary Rice
//
// Of its rules those are here whose secrets begin with words of their own, with
// their names. Lengths are lower bounds here, since a value that is too long for
// today's format is a secret all the same; its rules that need a variable's name
// beside the value are what keys.go does. The whole licence is in THIRD_PARTY.md.
var shapes = []shape{
	{"1password-secret-key", "A3-", word, 30, true},
	{"1password-service-account-token", "ops_eyJ", coded, 200, false},
	{"adobe-client-secret", "p8e-", alnum, 32, true},
	{"age-secret-key", "AGE-SECRET-KEY-1", alnum, 58, false},
	{"alibaba-access-key-id", "LTAI", alnum, 20, true},
	{"anthropic-api-key", "sk-ant-", word, 32, false},
	{"artifactory-api-key", "AKCp", alnum, 69, true},
	{"artifactory-reference-token", "cmVmd", alnum, 59, true},
	{"aws-access-token", "AKIA", alnum, 16, true},
	{"aws-access-token", "ASIA", alnum, 16, true},
	{"aws-access-token", "ABIA", alnum, 16, true},
	{"aws-access-token", "ACCA", alnum, 16, true},
	{"aws-amazon-bedrock-api-key", "ABSK", coded, 100, true},
	{"aws-amazon-bedrock-api-key", "bedrock-api-key-", coded, 20, false},
	{"clojars-api-token", "CLOJARS_", alnum, 60, false},
	{"databricks-api-token", "dapi", alnum, 32, true},
	{"digitalocean-access-token", "doo_v1_", alnum, 64, false},
	{"digitalocean-pat", "dop_v1_", alnum, 64, false},
	{"digitalocean-refresh-token", "dor_v1_", alnum, 64, false},
	{"doppler-api-token", "dp.pt.", alnum, 40, true},
	{"duffel-api-token", "duffel_test_", dotted, 40, false},
	{"duffel-api-token", "duffel_live_", dotted, 40, false},
	{"dynatrace-api-token", "dt0c01.", dotted, 80, true},
	{"easypost-api-token", "EZAK", alnum, 54, true},
	{"easypost-test-api-token", "EZTK", alnum, 54, true},
	{"facebook-page-access-token", "EAAM", alnum, 100, true},
	{"facebook-page-access-token", "EAAC", alnum, 100, true},
	{"flutterwave-secret-key", "FLWSECK", word, 17, false},
	{"flyio-access-token", "fo1_", word, 43, true},
	{"flyio-access-token", "fm1a_", coded, 100, true},
	{"flyio-access-token", "fm1r_", coded, 100, true},
	{"flyio-access-token", "fm2_", coded, 100, true},
	{"frameio-api-token", "fio-u-", dotted, 60, true},
	{"gcp-api-key", "AIza", word, 35, true},
	{"gcp-oauth-access-token", "ya29.", word, 40, true},
	{"gcp-oauth-client-secret", "GOCSPX-", word, 28, false},
	{"github-app-token", "ghu_", alnum, 36, false},
	{"github-app-token", "ghs_", alnum, 36, false},
	{"github-fine-grained-pat", "github_pat_", word, 60, false},
	{"github-oauth", "gho_", alnum, 36, false},
	{"github-pat", "ghp_", alnum, 36, false},
	{"github-refresh-token", "ghr_", alnum, 36, false},
	{"gitlab-cicd-job-token", "glcbt-", word, 20, false},
	{"gitlab-deploy-token", "gldt-", word, 20, false},
	{"gitlab-feature-flag-client-token", "glffct-", word, 20, false},
	{"gitlab-feed-token", "glft-", word, 20, false},
	{"gitlab-incoming-mail-token", "glimt-", word, 25, false},
	{"gitlab-kubernetes-agent-token", "glagent-", word, 50, false},
	{"gitlab-oauth-app-secret", "gloas-", word, 64, false},
	{"gitlab-pat", "glpat-", dotted, 20, false},
	{"gitlab-ptt", "glptt-", alnum, 40, false},
	{"gitlab-rrt", "GR1348941", word, 20, false},
	{"gitlab-runner-authentication-token", "glrt-", dotted, 20, false},
	{"gitlab-scim-token", "glsoat-", word, 20, false},
	{"grafana-api-key", "eyJrIjoi", coded, 70, false},
	{"grafana-cloud-api-token", "glc_", coded, 32, false},
	{"grafana-service-account-token", "glsa_", word, 41, false},
	{"harness-api-key", "pat.", dotted, 64, true},
	{"heroku-api-key-v2", "HRKU-AA", word, 58, false},
	{"huggingface-access-token", "hf_", alnum, 34, true},
	{"huggingface-organization-api-token", "api_org_", alnum, 34, false},
	{"infracost-api-token", "ico-", alnum, 32, true},
	{"linear-api-key", "lin_api_", alnum, 40, false},
	{"notion-api-token", "ntn_", alnum, 46, true},
	{"npm-access-token", "npm_", alnum, 36, true},
	{"octopus-deploy-api-key", "API-", alnum, 26, true},
	{"openai-api-key", "sk-proj-", word, 40, true},
	{"openai-api-key", "sk-svcacct-", word, 40, true},
	{"openai-api-key", "sk-admin-", word, 40, true},
	{"openai-api-key", "sk-or-v1-", word, 40, true},
	{"openai-api-key", "sk-", alnum, 40, true},
	{"openshift-user-token", "sha256~", word, 43, false},
	{"perplexity-api-key", "pplx-", alnum, 48, false},
	{"planetscale-api-token", "pscale_tkn_", dotted, 32, false},
	{"planetscale-oauth-token", "pscale_oauth_", dotted, 32, false},
	{"planetscale-password", "pscale_pw_", dotted, 32, false},
	{"postman-api-token", "PMAK-", word, 59, false},
	{"prefect-api-token", "pnu_", alnum, 36, true},
	{"pulumi-api-token", "pul-", alnum, 40, true},
	{"pypi-upload-token", "pypi-AgEIcHlwaS5vcmc", word, 50, false},
	{"readme-api-token", "rdme_", alnum, 70, false},
	{"rubygems-api-token", "rubygems_", alnum, 48, false},
	{"scalingo-api-token", "tk-us-", word, 48, true},
	{"sendgrid-api-token", "SG.", dotted, 66, true},
	{"sendinblue-api-token", "xkeysib-", word, 81, false},
	{"sentry-org-token", "sntrys_", urlish, 60, false},
	{"sentry-user-token", "sntryu_", alnum, 64, false},
	{"settlemint-access-token", "sm_aat_", alnum, 16, false},
	{"settlemint-access-token", "sm_pat_", alnum, 16, false},
	{"settlemint-access-token", "sm_sat_", alnum, 16, false},
	{"shippo-api-token", "shippo_live_", alnum, 40, false},
	{"shippo-api-token", "shippo_test_", alnum, 40, false},
	{"shopify-access-token", "shpat_", alnum, 32, false},
	{"shopify-custom-access-token", "shpca_", alnum, 32, false},
	{"shopify-private-app-access-token", "shppa_", alnum, 32, false},
	{"shopify-shared-secret", "shpss_", alnum, 32, false},
	{"slack-app-token", "xapp-", word, 30, true},
	{"slack-token", "xoxb-", word, 20, false},
	{"slack-token", "xoxp-", word, 20, false},
	{"slack-token", "xoxe-", word, 20, false},
	{"slack-token", "xoxe.xox", dotted, 20, false},
	{"slack-token", "xoxa-", word, 8, false},
	{"slack-token", "xoxr-", word, 8, false},
	{"slack-token", "xoxo-", word, 8, false},
	{"slack-token", "xoxs-", word, 8, false},
	{"slack-webhook-url", "hooks.slack.com/services/", urlish, 40, false},
	{"slack-webhook-url", "hooks.slack.com/workflows/", urlish, 40, false},
	{"slack-webhook-url", "hooks.slack.com/triggers/", urlish, 40, false},
	{"sourcegraph-access-token", "sgp_", word, 40, true},
	{"square-access-token", "sq0atp-", word, 22, false},
	{"square-access-token", "EAAA", word, 55, true},
	{"stripe-access-token", "sk_test_", alnum, 10, false},
	{"stripe-access-token", "sk_live_", alnum, 10, false},
	{"stripe-access-token", "sk_prod_", alnum, 10, false},
	{"stripe-access-token", "rk_test_", alnum, 10, false},
	{"stripe-access-token", "rk_live_", alnum, 10, false},
	{"stripe-access-token", "rk_prod_", alnum, 10, false},
	{"stripe-webhook-secret", "whsec_", coded, 24, false},
	{"teams-webhook", "webhook.office.com/webhookb2/", urlish, 80, false},
	{"twilio-api-key", "SK", hexadecimal, 32, true},
	{"vault-batch-token", "hvb.", word, 100, true},
	{"vault-service-token", "hvs.", word, 24, true},
	{"vercel-api-token", "vcp_", alnum, 24, true},
	{"xai-api-key", "xai-", alnum, 60, true},
}

// A front is what stands before the word of a shape that begins with none of its
// own: so many bytes of a set, nil for nothing.
type front struct {
	set   *charset
	least int
	most  int
}

// infixes are derived from the same rules.
var infixes = []struct {
	shape
	lead front
}{
	{shape{"azure-ad-client-secret", "Q~", dottedTilde, 31, false}, front{dottedTilde, 4, 4}},
	{shape{"telegram-bot-api-token", ":A", word, 34, false}, front{figures, 5, 16}},
}

// from returns where a secret begins whose word stands at an offset, or the end
// of the text where its lead is not there.
func (l *front) from(text []byte, at int) int {
	if l == nil {
		return at
	}
	from := at
	for from > 0 && at-from < l.most && l.set[text[from-1]] {
		from--
	}
	if at-from < l.least {
		return len(text)
	}
	return from
}

// runs remember where the run of a set ends in which the last secret began, so that
// a text of nothing but prefixes is read once.
type runs map[*charset]int

// end returns where the run ends that is at an offset. Offsets ascend.
func (r runs) end(set *charset, text []byte, at int) int {
	if end := r[set]; at < end {
		return end
	}
	for at < len(text) && set[text[at]] {
		at++
	}
	r[set] = at
	return at
}

// match returns where a secret of the shape ends whose prefix stands at text[at:],
// or -1.
func (s *shape) match(text []byte, at int, r runs) int {
	if string(text[at:at+len(s.prefix)]) != s.prefix || s.alone && at > 0 && alnum[text[at-1]] {
		return -1
	}
	body := at + len(s.prefix)
	end := r.end(s.body, text, body)
	for end > body && text[end-1] == '.' { // of a sentence
		end--
	}
	if end-body < s.least {
		return -1
	}
	return end
}

// follows reports whether a text begins with the prefix and enough of the body.
func (s *shape) follows(text []byte) bool {
	if string(text[:len(s.prefix)]) != s.prefix {
		return false
	}
	n := 0
	for _, c := range text[len(s.prefix):] {
		if n == s.least || !s.body[c] {
			break
		}
		n++
	}
	return n == s.least
}
