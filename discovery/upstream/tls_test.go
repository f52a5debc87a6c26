package upstream

import (
	"errors"
	"log"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
)

// A remote server that cannot be reached by TLS fails with the reason and advice, over
// both transports.
func TestTLSTroubleOfARemoteServer(t *testing.T) {
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(t.Output(), "", 0)
	secure.StartTLS()
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(func() { secure.Close(); plain.Close() })
	for _, tt := range []struct{ name, url, want, hint string }{
		{"an unknown authority", secure.URL, "an authority that this machine does not know", "SSL_CERT_FILE=authority.pem broker servers test s"},
		{"another host", strings.Replace(secure.URL, "127.0.0.1", "localhost", 1), "is for example.com", "broker servers test s, when that is done"},
		{"no TLS", "https://" + strings.TrimPrefix(plain.URL, "http://"), "its address may begin with http://", "broker servers test s, when that is done"},
	} {
		for _, kind := range []string{"", "http", "sse"} {
			t.Run(tt.name+" "+kind, func(t *testing.T) {
				if strings.HasPrefix(tt.hint, "SSL") && (runtime.GOOS == "windows" || runtime.GOOS == "darwin") {
					t.Skip("the system has a list of authorities of its own")
				}
				c := remoteConfig(tt.url + "/mcp")
				c.Type = kind
				p := newPool(t, nil, c)
				_, err := p.Call(t.Context(), "s", "echo", nil, nil)
				ce, ok := errors.AsType[*ConnectError](err)
				if !ok || ce.State != StateFailed || !strings.Contains(err.Error(), tt.want) || ce.Hint != tt.hint {
					t.Errorf("err = %v, hint %q; want %q, %q", err, ce.Hint, tt.want, tt.hint)
				}
			})
		}
	}
}
