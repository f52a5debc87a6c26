package fakeauth

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

const metadataPath = "/.well-known/oauth-protected-resource/mcp"

// protectedServer returns the MCP server with the check of its tokens.
func (s *Server) protectedServer() http.Handler {
	tools := mcp.NewServer(&mcp.Implementation{Name: "protected", Version: "1"}, nil)
	type none struct{}
	for _, name := range []string{"whoami", "admin"} {
		mcp.AddTool(tools, &mcp.Tool{Name: name, Description: "Say that " + name + " was called."},
			func(_ context.Context, req *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
				text := name + " was called"
				if account := req.Extra.TokenInfo.UserID; account != "" {
					text += " by " + account
				}
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
			})
	}
	at := strings.TrimSuffix(s.URL, "/mcp") + metadataPath
	stream := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return tools }, &mcp.StreamableHTTPOptions{Stateless: true})
	bearer := auth.RequireBearerToken(s.verify, &auth.RequireBearerTokenOptions{ResourceMetadataURL: at})
	mux := http.NewServeMux()
	mux.HandleFunc(metadataPath, func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		issuers := s.b.Issuers
		s.mu.Unlock()
		m := &oauthex.ProtectedResourceMetadata{Resource: s.URL, AuthorizationServers: []string{s.Issuer}, ScopesSupported: []string{"read"}}
		if issuers != nil {
			m.AuthorizationServers[0] = issuers()
		}
		answer(w, http.StatusOK, m)
	})
	mux.Handle("/mcp", s.count(bearer(s.stepUp(at, stream))))
	return mux
}

// verify looks a token up. It uses the server's clock instead of the SDK's.
func (s *Server) verify(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, ok := s.access[token]
	if !ok || s.now().After(g.expiry) {
		return nil, auth.ErrInvalidToken
	}
	return &auth.TokenInfo{UserID: g.account, Scopes: strings.Fields(g.scopes), Expiration: time.Now().Add(time.Hour)}, nil
}

// stepUp refuses calls of admin that lack its scope.
func (s *Server) stepUp(metadata string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		var m struct {
			Method string
			Params struct{ Name string }
		}
		_ = json.Unmarshal(body, &m) // invalid JSON is not this handler's concern
		if m.Method == "tools/call" && m.Params.Name == "admin" && !slices.Contains(auth.TokenInfoFromContext(r.Context()).Scopes, "admin") {
			w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer error="insufficient_scope", scope="admin", resource_metadata=%q`, metadata))
			s.mu.Lock()
			unauthorized := s.b.Unauthorized
			s.mu.Unlock()
			status := http.StatusForbidden
			if unauthorized {
				status = http.StatusUnauthorized
			}
			http.Error(w, "more scope is needed", status)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// count counts refusals.
func (s *Server) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&countingWriter{ResponseWriter: w, s: s}, r)
	})
}

type countingWriter struct {
	http.ResponseWriter
	s *Server
}

func (w *countingWriter) WriteHeader(status int) {
	if status == http.StatusUnauthorized || status == http.StatusForbidden {
		w.s.mu.Lock()
		w.s.counts.Refused++
		w.s.mu.Unlock()
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController find Flush.
func (w *countingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush flushes the wrapped writer.
func (w *countingWriter) Flush() {
	if f, ok := w.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}
