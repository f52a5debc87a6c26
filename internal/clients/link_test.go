package clients

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Opened by a client, a link is the entry that it was made of: also with the
// characters that mean something in an address, or in JSON.
func TestLinksRoundTrip(t *testing.T) {
	name := `my broker+1&x=ü "q"%20`
	l := Launch{Command: `C:\Program Files\broker.exe`, Args: []string{"serve", "--config", "/home/a b/ü&?#+=/servers.json", `"quoted"`}}
	type entry struct {
		Name    string
		Command string
		Args    []string
	}
	links, err := Links(name, l)
	if err != nil || len(links) != 3 {
		t.Fatal(links, err)
	}
	for _, link := range links {
		u, err := url.Parse(link.URL)
		if err != nil {
			t.Fatal(err)
		}
		var text, gotName string
		if link.Client == "cursor" {
			q, err := url.ParseQuery(u.RawQuery)
			data, err2 := base64.StdEncoding.DecodeString(q.Get("config"))
			if err != nil || err2 != nil || u.Scheme+"://"+u.Host+u.Path != "cursor://anysphere.cursor-deeplink/mcp/install" {
				t.Errorf("%s: %v, %v", link.URL, err, err2)
			}
			text, gotName = string(data), q.Get("name")
		} else {
			if text, err = url.PathUnescape(u.RawQuery); err != nil || u.Scheme != link.Client || u.Opaque != "mcp/install" {
				t.Errorf("%s: %v", link.URL, err)
			}
		}
		var got entry
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if gotName == "" {
			gotName = got.Name
		}
		if diff := cmp.Diff(entry{name, l.Command, l.Args}, entry{gotName, got.Command, got.Args}); diff != "" {
			t.Errorf("%s: %s", link.Client, diff)
		}
		if strings.ContainsAny(link.URL, "\" <>\\+") {
			t.Errorf("%s cannot stand in a page or a terminal", link.URL)
		}
	}
}
