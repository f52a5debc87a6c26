package s3

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// escaper makes of an escaped query a path in which nothing but letters, digits and
// -._~/ is as it was, which a signature wants and a URL does not.
var escaper = strings.NewReplacer("+", "%20", "%2F", "/")

// sign signs a request without a query by AWS Signature Version 4. The digest of its
// body must be in its header.
func sign(req *http.Request, o Options, now time.Time) {
	at := now.UTC().Format("20060102T150405Z")
	req.Header.Set("X-Amz-Date", at)
	if o.SessionToken != "" {
		req.Header.Set("X-Amz-Security-Token", o.SessionToken)
	}
	headers := map[string]string{"host": req.URL.Host}
	for name := range req.Header {
		headers[strings.ToLower(name)] = strings.TrimSpace(req.Header.Get(name))
	}
	var names []string
	for name := range headers {
		names = append(names, name)
	}
	slices.Sort(names)
	signed := strings.Join(names, ";")
	req.URL.RawPath = escaper.Replace(url.QueryEscape(req.URL.Path))
	var canonical strings.Builder
	canonical.WriteString(req.Method + "\n" + req.URL.EscapedPath() + "\n\n")
	for _, name := range names {
		canonical.WriteString(name + ":" + headers[name] + "\n")
	}
	canonical.WriteString("\n" + signed + "\n" + headers["x-amz-content-sha256"])
	sum := sha256.Sum256([]byte(canonical.String()))
	scope := at[:8] + "/" + o.Region + "/s3/aws4_request"
	key := []byte("AWS4" + o.SecretKey)
	for _, part := range append(strings.Split(scope, "/"), "AWS4-HMAC-SHA256\n"+at+"\n"+scope+"\n"+hex.EncodeToString(sum[:])) {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(part))
		key = mac.Sum(nil)
	}
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+o.AccessKey+"/"+scope+",SignedHeaders="+signed+",Signature="+hex.EncodeToString(key))
}
