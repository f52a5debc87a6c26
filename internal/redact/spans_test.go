package redact

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/jsonscan/jsonscantest"
	"time"
)

// A textCase is a text in parts: what is plain, and what should be found, cut in
// pieces so that no file holds a whole secret.
type textCase struct {
	ID, Label, Media string
	Parts            []json.RawMessage
}

// join returns the text and the spans of a case.
func (c textCase) join(t *testing.T) (string, []Span) {
	var b strings.Builder
	var want []Span
	for _, p := range c.Parts {
		var plain string
		if json.Unmarshal(p, &plain) == nil {
			b.WriteString(plain)
			continue
		}
		var s struct {
			Type string
			V    []string
		}
		if err := json.Unmarshal(p, &s); err != nil {
			t.Fatal(err)
		}
		start := b.Len()
		b.WriteString(strings.Join(s.V, ""))
		want = append(want, Span{Type: s.Type, Start: start, End: b.Len()})
	}
	return b.String(), want
}

func TestTexts(t *testing.T) {
	data, err := os.ReadFile("testdata/texts.json")
	if err != nil {
		t.Fatal(err)
	}
	var f struct{ Cases []textCase }
	if err := json.Unmarshal(data, &f); err != nil {
		t.Fatal(err)
	}
	for _, c := range f.Cases {
		text, want := c.join(t)
		checkSpans(t, c.ID, text, c.Media == "json", want)
	}
}

func checkSpans(t *testing.T, id, text string, isJSON bool, want []Span) {
	t.Helper()
	got := Find(text)
	if isJSON {
		var ok bool
		if got, ok = FindJSON(text); !ok {
			t.Errorf("%s: %q is not JSON", id, text)
		}
		if out := ReplaceJSON(text, got, Mark); !json.Valid([]byte(out)) {
			t.Errorf("%s: %q becomes %q", id, text, out)
		}
	}
	same := len(got) == len(want)
	for i := 0; same && i < len(got); i++ {
		same = got[i].Type == want[i].Type && got[i].Start == want[i].Start && got[i].End == want[i].End
	}
	if !same {
		t.Errorf("%s: %q\n got %v\nwant %v", id, text, got, want)
	}
}

// found are texts with one value each, in «type|value».
func found() []string {
	gh := "gh" + "p_" + some(alnum, 36)
	return []string{
		"mail «email|kim.lee+news@mail.example.co.uk», please", "<«email|o'hara@example.org»>", "mailto:«email|kim@example.com»?subject=x", "«email|a_b-c@sub.example.museum».", "To: «email|kim@example.com»; Cc: «email|lee@example.net»",
		"ring «phone|+49 30 901820» or «phone|+1 (415) 555-0132»", "tel:«phone|+442079460958»", "(«phone|+41 44 668 18 00»)", "phone=«phone|+4915112345678»&x=1", "«phone|+1-212-555-0187».", "«phone|+33 1 70 18 12 34», office 5",
		"card «card|4111-1111-1111-1111».", "«card|5555555555554444»", "«card|3782 822463 10005» exp 12/29", "pan:«card|6011111111111117»", "«card|30569309025904»", "«card|3530111333300000»",
		"to «iban|DE89 3704 0044 0532 0130 00» now", "IBAN:«iban|GB82WEST12345698765432»", "«iban|NL91ABNA0417164300»",
		"SSN «ssn|536-22-8726».", "ssn «ssn|536 22 8726»", "tel: «phone|0049 30 901820»", "call «phone|0033 1 70 18 12 34»", "ssn=«ssn|219-09-9999»",
		"token «github_token|" + gh + "»", "https://«github_token|" + gh + "»@github.com/o/r", "Authorization: Bearer «github_token|" + gh + "»", "GITHUB_TOKEN=«github_token|" + gh + "»", `password="«github_token|` + gh + `»"`,
		"«slack_token|xox" + "b-" + some(digits, 12) + "-" + some(alnum, 24) + "»", "«stripe_key|sk" + "_live_" + some(alnum, 24) + "»", "«anthropic_key|sk" + "-ant-api03-" + some(alnum, 93) + "»", "«openai_key|sk" + "-proj-" + some(alnum, 80) + "»",
		"«google_api_key|AI" + "za" + some(alnum, 35) + "»", "«npm_token|np" + "m_" + some(alnum, 36) + "»", "«gitlab_token|gl" + "pat-" + some(alnum, 20) + "»", "«aws_access_key|AK" + "IA" + some(upper, 16) + "»",
		"postgres://app:«url_password|" + some(alnum, 16) + "»@db.example.com/x", "redis://:«url_password|p4ss-w0rd»@cache:6379",
		"«jwt|ey" + "J" + some(alnum, 33) + ".ey" + "J" + some(alnum, 40) + "." + some(alnum, 43) + "» expired", "Bearer «jwt|ey" + "J" + some(alnum, 33) + ".ey" + "J" + some(alnum, 40) + "." + some(alnum, 43) + "»",
		"password: «generic_secret|hunter2»", "db_password=«generic_secret|S3cr3t!x9»", "client_secret='«generic_secret|" + some(alnum, 20) + "»'", "api_key: «generic_secret|" + some(hexes, 32) + "»", "X-Api-Key: «generic_secret|" + some(hexes, 32) + "»", "?token=«generic_secret|" + some(alnum, 24) + "»&n=1",
		"run --password «generic_secret|s3cret-pw» now", "<password>«generic_secret|s3cretpw»</password>", "login with password «x|»" + "given",
		"k:\n«private_key|-----BEGIN OPENSSH " + "PRIVATE KEY-----\n" + some(alnum, 70) + "\n-----END OPENSSH " + "PRIVATE KEY-----»\nend",
		"«private_key|-----BEGIN PGP " + "PRIVATE KEY BLOCK-----\n\n" + some(alnum, 70) + "\n-----END PGP " + "PRIVATE KEY BLOCK-----»",
	}
}

// spansOf takes the marks out of a text.
func spansOf(marked string) (string, []Span) {
	var b strings.Builder
	var want []Span
	for {
		before, rest, ok := strings.Cut(marked, "«")
		b.WriteString(before)
		if !ok {
			return b.String(), want
		}
		inner, after, _ := strings.Cut(rest, "»")
		kind, value, _ := strings.Cut(inner, "|")
		if kind != "x" {
			want = append(want, Span{Type: kind, Start: b.Len(), End: b.Len() + len(value)})
		}
		b.WriteString(value)
		marked = after
	}
}

func TestFind(t *testing.T) {
	for _, marked := range found() {
		text, want := spansOf(marked)
		checkSpans(t, "text", text, false, want)
		// The same in a string of JSON.
		raw := `{"note": ` + string(quoted(text)) + `, "n": [1, true]}`
		got, ok := FindJSON(raw)
		if !ok || len(got) != len(want) {
			t.Errorf("%s: %v, want %d", raw, got, len(want))
		}
		if out := ReplaceJSON(raw, got, Mark); !json.Valid([]byte(out)) {
			t.Errorf("%s becomes %s", raw, out)
		}
	}
}

func TestFindJSON(t *testing.T) {
	for _, marked := range []string{
		`{"password": "«generic_secret|correct horse»", "user": "kim"}`, `{"api_key":"«generic_secret|abcd1234»","x":1}`, `{"a":{"accessToken": "«generic_secret|` + some(alnum, 30) + `»"}}`,
		`{"token": ["«generic_secret|one-1234»", "«generic_secret|two-1234»"]}`, `{"secret": «generic_secret|12345678», "card": «card|4242424242424242»}`, `[«card|4242424242424242»,4242424242424241]`,
		`{"a":"x\n«email|kim@example.com»\n"}`, `{"a":"\u00e9 «email|kim\u0040example.com» \ud83d\ude00 «phone|+33 1 70 18 12 34»"}`,
		`{"key":"«private_key|-----BEGIN ` + `PRIVATE KEY-----\n` + some(alnum, 60) + `\n-----END ` + `PRIVATE KEY-----\n»"}`,
		`{"password": "${DB_PASSWORD}", "token": null, "secret": true, "max_tokens": 4096, "next_page_token": "abcdef123456", "tokenType": "bearer", "password_hint": "the cat"}`,
		`{"properties": {"password": {"type": "string", "description": "The password of the user"}}}`, `{"secretName": "db", "keyboard": "x", "author": "Kim Lee"}`,
		`{"«email|kim@example.com»": 1}`, `"«email|kim@example.com»"`, `«card|4242424242424242»`, `{}`, `[]`, `""`,
	} {
		marked = strings.ReplaceAll(marked, `PRIVATE KEY-----\n»`, `PRIVATE KEY-----»\n`)
		text, want := spansOf(marked)
		checkSpans(t, "json", text, true, want)
	}
	if _, ok := FindJSON(`{"a":`); ok {
		t.Error("half an object is JSON")
	}
}

// A text is JSON if encoding/json says so, and then stays JSON.
func TestAgreesWithEncodingJSON(t *testing.T) {
	for _, text := range jsonscantest.Malformed() {
		if _, ok := FindJSON(text); ok {
			t.Errorf("%.200q is JSON", text)
		}
		// Secrets are found all the same.
		if s := string(JSON([]byte(`{"first":"x","password":"correct-horse"} `+text), 1<<16)); strings.Contains(s, "correct-horse") && strings.TrimSpace(text) != "" {
			t.Errorf("in front of %.200q: %.200s", text, s)
		}
	}
	for _, text := range jsonscantest.Odd() {
		text = `{"password":"correct-horse","` + strings.Repeat("k", 5) + `":` + text + `}`
		spans, ok := FindJSON(text)
		if valid := json.Valid([]byte(text)); ok != valid {
			t.Errorf("%.200q is JSON: %v", text, ok)
		} else if out := ReplaceJSON(text, spans, Mark); valid && (!json.Valid([]byte(out)) || strings.Contains(out, "correct-horse")) {
			t.Errorf("%.200q becomes %.200q", text, out)
		}
	}
}

// What is cut is the beginning of JSON at each place, and what is in it is found.
func TestCutJSON(t *testing.T) {
	text := `{"rows":[{"password":"correct-horse","n":1.5e3},{"note":"mail kim@example.com","nested":"{\"token\":\"abcd1234efgh\"}"}],"x":{"secret":["abcd-1234",true]}}`
	for i := 1; i < len(text); i++ {
		f := newFinder(jsonFinder{persons: true}, text[:i])
		if f.walk() || !f.truncated() {
			t.Errorf("%q is not the beginning of JSON", text[:i])
		}
		out := ReplaceJSON(text[:i], f.spans, Mark)
		for _, secret := range []string{"correct-horse", "kim@example.com", "abcd1234efgh", "abcd-1234"} {
			if strings.Contains(out, secret) {
				t.Errorf("%q becomes %q", text[:i], out)
			}
		}
	}
}

func TestLookAlikes(t *testing.T) {
	for _, text := range []string{
		"commit 9fceb02d0ae598e95dc970b74767f19372d61af8", "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "id 0192c7a0-7b1e-7d5c-9a6b-3f1f2c7f8e11", "etag \"5d8c72a5edda8d6a\"",
		"order 4111 1111 1111 1112", "order 1234-5678-9012-3456", "tracking 1Z999AA10123456784", "at 1700000000000 ms", "2026-11-23T12:51:11+01:00", "UTC+02:00", "20261123125111", "v4.11.111-beta.1", "10.0.0.1", "2001:db8:85a3::8a2e:370:7334", "fe80::1%eth0",
		"git@gitlab.com:acme/app.git", "ssh://git@github.com/o/r.git", "react@18.2.0 and @scope/pkg@1.0.0", "icon@2x.png", "user@localhost", "@channel hi", "a@b", "foo @ bar.com",
		"password=${PASSWORD}", "password=$PASSWORD", "api_key=YOUR_API_KEY", "token: <your token>", "secret={{ secret }}", "password: ********", "sk-xxxxxxxxxxxxxxxxxxxxxxxx", "AKIA" + "IOSFODNN7EXAMPLE", "password=changeme", "apiKey: process.env.API_KEY",
		"postgres://user:password@localhost/db", "postgres://${USER}:${PASS}@db/x", "http://host:8080/a@b", "password: must have eight characters", "The token: an essay.", "unexpected token: identifier", "max_tokens=100", "tokens: 1234567890123456",
		"-----BEGIN PUBLIC KEY-----\nMFkw\n-----END PUBLIC KEY-----", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIK", "DE89 3704 0044 0532 0130 01", "GB00WEST12345698765432", "US12345678901234", "XX89370400440532013000",
		"000-12-3456", "room 536 22 8726", "part 0049 30 901820", "666-12-3456", "912-34-5678", "536-22-8726-1", "2026-12-3456", "1+2345678901", "+100000000", "+0 123 456 789", "x +12345", "C++11223344", "+99 12 34 56 78", "EAN 4006381333931", "ISBN 978-3-16-148410-0", "imei 490154203237518", "4242", "eyJhbGciOiJub25lIn0",
		"basic functionality", "bearer of bad news", "cookie: none", "x=0.4242424242424242", "lat 52.5200066, lon +13.404954", "pi 3.14159265358979323846", "ticket 4000-1234", "[4, 2, 4, 2]",
	} {
		if got := Find(text); len(got) > 0 {
			t.Errorf("%q: %v %q", text, got, text[got[0].Start:got[0].End])
		}
	}
}

func FuzzFind(f *testing.F) {
	for _, s := range found() {
		text, _ := spansOf(s)
		f.Add(text)
	}
	f.Add(`{"password":"a\u0040\"","t":[12345678]}`)
	f.Fuzz(func(t *testing.T, text string) {
		end := 0
		for _, s := range Find(text) {
			if s.Start < end || s.End <= s.Start || s.End > len(text) {
				t.Fatalf("%q: %v", text, s)
			}
			end = s.End
		}
		spans, ok := FindJSON(text)
		if ok != json.Valid([]byte(text)) {
			t.Fatalf("%q is JSON: %v", text, ok)
		}
		if ok {
			if out := ReplaceJSON(text, spans, Mark); !json.Valid([]byte(out)) {
				t.Fatalf("%q becomes %q", text, out)
			}
		}
	})
}

// BenchmarkFindJSON looks through 1 MiB of rows.
func BenchmarkFindJSON(b *testing.B) {
	row := `{"id":12345,"uuid":"6ba7b810-9dad-11d1-80b4-00c04fd430c8","title":"Fix the key of the map","url":"https://example.com/issues/1?page=2","author":"Kim Lee","at":"2026-11-23T12:51:11Z","tags":["bug","a token of thanks"],"body":"It says: not found. See the list of 12 entries, version 1.2.3 of (open) things."},`
	text := "[" + strings.Repeat(row, 1<<20/len(row)) + `{"mail":"kim@example.com"}]`
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if spans, ok := FindJSON(text); !ok || len(spans) != 1 {
			b.Fatal(ok, spans)
		}
	}
}

// BenchmarkFind looks through an answer of 12 kB.
func BenchmarkFind(b *testing.B) {
	text := strings.Repeat("The list of issues has 12 entries; see https://example.com/issues?page=2 for #17 (open). ", 12<<10/88)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if Find(text) != nil {
			b.Fatal("something was found")
		}
	}
}

// A text that is made for it does not keep a reader waiting: what follows a name or a
// prefix is not read again from each one in it.
func TestFindIsLinear(t *testing.T) {
	for _, unit := range []string{"gldt-", "sk-ant-", "key-a", "password=", "secret=\\\"", "-----begin ", "a@", "+1 ", "://a:"} {
		text := strings.Repeat(unit, 1<<18/len(unit))
		began := time.Now()
		Find(text)
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%q: %v for %d bytes", unit, took, len(text))
		}
	}
	nested := "password=" + strings.Repeat("passwd=", 2000) + " token=hunter2hunter2"
	if got := Text(nested); got != "password=[redacted] [redacted]" {
		t.Errorf("%.200s", got)
	}
}
