package learned

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"sync"

	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
)

// parameters caches the traits of the names of parameters.
type parameters struct {
	mu    sync.Mutex
	known map[string]traits
}

// traits describe a parameter by its name: whether it chooses the fields of a result, and whether
// it is a query.
type traits struct{ chooses, queries bool }

// maxParameters bounds the cached names: names can be data too.
const maxParameters = 4096

// maxParameterName is the length of the longest cached name.
const maxParameterName = 64

func (p *parameters) traits(name string) traits {
	p.mu.Lock()
	defer p.mu.Unlock()
	t, ok := p.known[name]
	if ok {
		return t
	}
	t = traits{chooser.MatchString(name), query.MatchString(name)}
	if len(name) > maxParameterName {
		return t
	}
	if p.known == nil || len(p.known) >= maxParameters {
		p.known = make(map[string]traits)
	}
	p.known[name] = t
	return t
}

// digests returns the digest of the arguments of a call in any encoding, and the digest of what
// the call asks for: the names of its parameters and the values of those that choose fields or a
// form. queries reports whether there is a query among them.
func (p *parameters) digests(args json.RawMessage) (all, asked digest, queries bool) {
	d := json.NewDecoder(bytes.NewReader(args))
	d.UseNumber()
	var v any
	if len(args) == 0 || d.Decode(&v) != nil {
		return sha256.Sum256(args), digest{}, false
	}
	o, _ := v.(map[string]any)
	chosen := make(map[string]any, len(o))
	for name, value := range o {
		t := p.traits(name)
		queries = queries || t.queries
		if chosen[name] = nil; t.chooses {
			chosen[name] = value
		}
	}
	text, err := json.Marshal(v)
	if err != nil {
		return sha256.Sum256(args), digest{}, queries
	}
	form, err := json.Marshal(chosen)
	if err != nil {
		return sha256.Sum256(text), digest{}, queries
	}
	return sha256.Sum256(text), sha256.Sum256(form), queries
}

// chooser matches parameters that commonly choose the fields of a result.
var chooser = lazyregexp.New(`(?i)^(?:\$?(?:fields?|select|expand|include\w*|exclude\w*|properties|columns?|projection|with\w*)|views?|details?|detail_?level|format|output\w*|response_?format|` +
	`verbos\w*|full|brief|summary|minimal|compact|mode|type|kind|method|action|operation|resource|query|sql|statements?|cypher|sparql|graphql|gql|[jst]ql|pipeline|aggregations?|expression)$`)

// query matches parameters for a query in some language or for search terms: the keys of the
// objects in a result may depend on them.
var query = lazyregexp.New(`(?i)^(?:q|search\w*|quer(?:y|ies)|\w*_query|\w*Query|\w*sql|statements?|cypher|sparql|graphql|gql|[jst]ql|pipeline|aggregations?|expression|select|columns?|fields?|projection)$`)
