package api

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// A document is openapi.json, with its schemas ready to judge answers by.
type document struct {
	Paths map[string]map[string]json.RawMessage `json:"paths"`
	parts struct {
		Schemas   map[string]json.RawMessage `json:"schemas"`
		Responses map[string]response        `json:"responses"`
	}

	mu   sync.Mutex
	seen map[string]bool // "GET /api/skills 200"
}

type operation struct {
	OperationID string                `json:"operationId"`
	Security    []map[string][]string `json:"security"`
	Parameters  []struct{ Name, In string }
	Responses   map[string]response `json:"responses"`
}

type response struct {
	Ref     string                                `json:"$ref"`
	Content map[string]map[string]json.RawMessage `json:"content"`
}

func readDocument(t *testing.T) *document {
	t.Helper()
	d := &document{seen: map[string]bool{}}
	var rest struct {
		Components *struct {
			Schemas   map[string]json.RawMessage `json:"schemas"`
			Responses map[string]response        `json:"responses"`
		} `json:"components"`
	}
	for _, to := range []any{d, &rest} {
		if err := json.Unmarshal(description, to); err != nil {
			t.Fatal(err)
		}
	}
	d.parts = *rest.Components
	return d
}

// documented is the path of a route as OpenAPI writes it.
func documented(path string) string { return strings.ReplaceAll(path, "...}", "}") }

func (d *document) operation(t *testing.T, method, path string) (operation, bool) {
	t.Helper()
	var o operation
	raw, ok := d.Paths[documented(path)][strings.ToLower(method)]
	if ok {
		if err := json.Unmarshal(raw, &o); err != nil {
			t.Fatal(err)
		}
	}
	return o, ok
}

func TestEachRouteIsDocumentedAndEachDocumentedIsThere(t *testing.T) {
	d := readDocument(t)
	there := map[string]bool{}
	ids := map[string]bool{}
	for _, r := range routes {
		at := r.method + " " + documented(r.path)
		there[at] = true
		o, ok := d.operation(t, r.method, r.path)
		if !ok {
			t.Errorf("%s is not documented", at)
			continue
		}
		if ids[o.OperationID] || o.OperationID == "" {
			t.Errorf("%s: operationId %q is empty or there twice", at, o.OperationID)
		}
		ids[o.OperationID] = true
		if admin := len(o.Security) == 1 && o.Security[0]["admin"] != nil; admin != r.changes {
			t.Errorf("%s: the document says that it needs the admin token: %v, and it does: %v", at, admin, r.changes)
		}
		for status, res := range o.Responses {
			if res.Ref != "" && d.parts.Responses[strings.TrimPrefix(res.Ref, "#/components/responses/")].Content == nil {
				t.Errorf("%s: %s: nothing is at %s", at, status, res.Ref)
			}
		}
	}
	for path, methods := range d.Paths {
		for method := range methods {
			if at := strings.ToUpper(method) + " " + path; method != "parameters" && !there[at] {
				t.Errorf("%s is documented and not there", at)
			}
		}
	}
	for name := range d.parts.Schemas {
		if !bytes.Contains(description, []byte(`"#/components/schemas/`+name+`"`)) {
			t.Errorf("schema %s is used by nothing", name)
		}
		d.judge(t, json.RawMessage(`{"$ref": "#/components/schemas/`+name+`"}`), nil)
	}
}

// judge reports what is wrong with an answer; without one, whether the schema
// itself is one.
func (d *document) judge(t *testing.T, schema json.RawMessage, answer []byte) {
	t.Helper()
	move := func(raw []byte) []byte {
		return bytes.ReplaceAll(raw, []byte("#/components/schemas/"), []byte("#/$defs/"))
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(move(schema), &s); err != nil {
		t.Fatal(err)
	}
	defs, err := json.Marshal(d.parts.Schemas)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(move(defs), &s.Defs); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatalf("schema %s: %v", schema, err)
	}
	if answer == nil {
		return
	}
	var v any
	if err := json.Unmarshal(answer, &v); err != nil {
		t.Fatalf("%v in %s", err, answer)
	}
	if err := resolved.Validate(v); err != nil {
		t.Errorf("the answer is not what the document says: %v: %s", err, answer)
	}
}

// check judges an answer by what the document says of the operation.
func (d *document) check(t *testing.T, method, pattern string, res *httptest.ResponseRecorder) {
	t.Helper()
	if strings.Contains(res.Body.String(), hostPath) {
		t.Errorf("%s %s tells where files are on this host: %s", method, pattern, res.Body)
	}
	o, ok := d.operation(t, method, pattern)
	if !ok { // an address that is none, or a wrong method
		d.judge(t, json.RawMessage(`{"$ref": "#/components/schemas/Problem"}`), res.Body.Bytes())
		return
	}
	status := http.StatusText(res.Code)
	code := strings.TrimSpace(strings.Split(res.Result().Status, " ")[0])
	want, ok := o.Responses[code]
	if !ok {
		t.Errorf("%s %s answers %s %s, which is not documented: %s", method, pattern, code, status, res.Body)
		return
	}
	if want.Ref != "" {
		want = d.parts.Responses[strings.TrimPrefix(want.Ref, "#/components/responses/")]
	}
	contentType := res.Header().Get("Content-Type")
	content, ok := want.Content[contentType]
	if !ok {
		t.Errorf("%s %s %s: the answer is %q, documented are %q", method, pattern, code, contentType, slices.Collect(maps.Keys(want.Content)))
		return
	}
	d.judge(t, content["schema"], res.Body.Bytes())
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen[method+" "+documented(pattern)+" "+code] = true
}
