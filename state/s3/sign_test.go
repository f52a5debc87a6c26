package s3

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// The example of Amazon's documentation.
func TestSignature(t *testing.T) {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://examplebucket.s3.amazonaws.com/test.txt", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Range", "bytes=0-9")
	req.Header.Set("X-Amz-Content-Sha256", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
	sign(req, Options{AccessKey: "AKIAIOSFODNN7EXAMPLE", SecretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", Region: "us-east-1"}, time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC))
	if got := req.Header.Get("Authorization"); !strings.HasSuffix(got, "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41") {
		t.Error(got)
	}
}
