package s3

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// The examples of Amazon's documentation.
func TestSignature(t *testing.T) {
	for _, c := range []struct {
		method, path, sum, signature string
		header                       map[string]string
	}{
		{"GET", "test.txt", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
			map[string]string{"Range": "bytes=0-9"}},
		{"PUT", "test$file.text", "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072", "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
			map[string]string{"Date": "Fri, 24 May 2013 00:00:00 GMT", "X-Amz-Storage-Class": "REDUCED_REDUNDANCY"}},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, "https://examplebucket.s3.amazonaws.com/"+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range c.header {
			req.Header.Set(name, value)
		}
		req.Header.Set("X-Amz-Content-Sha256", c.sum)
		sign(req, Options{AccessKey: "AKIAIOSFODNN7EXAMPLE", SecretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", Region: "us-east-1"}, time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC))
		if got := req.Header.Get("Authorization"); !strings.HasSuffix(got, c.signature) {
			t.Errorf("%s: %s", c.path, got)
		}
	}
}
