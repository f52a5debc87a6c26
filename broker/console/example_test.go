package console_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/mcpbroker/mcpbroker/broker/console"
)

// A browser exchanges the token of an address for a cookie, and its page for a key.
func Example() {
	c := console.New()
	address := c.URL("127.0.0.1:8080", true, true)
	_, token, _ := strings.Cut(address, "#token=")

	req := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8080/console/session", strings.NewReader(`{"token": "`+token+`"}`))
	res := httptest.NewRecorder()
	c.ServeHTTP(res, req)
	var session struct{ Key string }
	_ = json.Unmarshal(res.Body.Bytes(), &session)

	again := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:8080/api/servers", nil)
	fmt.Println(c.Session(again))
	again.AddCookie(res.Result().Cookies()[0])
	fmt.Println(c.Session(again))
	again.Header.Set(console.KeyHeader, session.Key)
	fmt.Println(c.Session(again))
	// Output:
	// false false
	// false false
	// true true
}
