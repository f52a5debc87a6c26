package surface

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Replicas are the brokers that share their state with this one.
type Replicas interface {
	// Name is that of this one.
	Name() string
	// Pass passes a request on to the named replica. It returns false, without reading
	// or writing anything, if the replica does not exist.
	Pass(w http.ResponseWriter, r *http.Request, name string) bool
	// Serve sets the handler for requests from other replicas.
	Serve(h http.Handler)
}

const (
	sessionHeader = "Mcp-Session-Id"
	// anywhere is the name in the ids of sessions that any replica answers.
	anywhere = "any"
	// maxRequestBytes bounds a request, as the SDK does.
	maxRequestBytes = mcp.DefaultMaxRequestBodyBytes
)

// newID returns an id for data of the named replica; without other replicas, the id
// contains no name.
func newID(replica string) string {
	if replica == "" {
		return rand.Text()
	}
	return replica + "-" + rand.Text()
}

// replicaIn returns the name of the replica in an id, or "".
func replicaIn(id string) string {
	i := strings.LastIndexByte(id, '-')
	return id[:max(i, 0)]
}

// newSession makes the id of a session that any replica answers, with what the client
// calls itself, for the record.
func newSession(client string) string {
	return newID(anywhere) + "." + base64.RawURLEncoding.EncodeToString([]byte(gate.Cut(gate.Clean(client), 60)))
}

// maxSessionID is longer than what newSession makes.
const maxSessionID = 512

// readSession reads an id made by newSession, or returns false. A forged id is
// harmless: it only determines the client's name and which of its own conversations it
// uses.
func readSession(id string) (client string, ok bool) {
	rest, ok := strings.CutPrefix(id, anywhere+"-")
	if !ok || len(id) > maxSessionID {
		return "", false
	}
	_, name, _ := strings.Cut(rest, ".")
	text, err := base64.RawURLEncoding.DecodeString(name)
	return gate.Cut(gate.Clean(string(text)), 60), err == nil
}

type forwardedKey struct{}

// markForwarded marks requests that another replica has passed on.
func markForwarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), forwardedKey{}, true)))
	})
}

// readBody reads the body of a request, which can be read again. It is false if the
// request has been refused.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, true
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequestBytes))
	if err != nil {
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			http.Error(w, fmt.Sprintf("request body exceeds %d bytes", maxRequestBytes), http.StatusRequestEntityTooLarge)
		} else {
			http.Error(w, "failed to read body", http.StatusBadRequest)
		}
		return nil, false
	}
	setBody(r, body)
	return body, true
}

// setBody makes the body of a request readable again after it was read.
func setBody(r *http.Request, body []byte) {
	_ = r.Body.Close()
	r.Body = io.NopCloser(bytes.NewReader(body))
}
