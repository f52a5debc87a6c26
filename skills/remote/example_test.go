package remote_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/skills/remote"
)

func Example() {
	text := "---\nname: review\ndescription: Reviews texts. Use before one is sent.\n---\nRead it.\n"
	sum := sha256.Sum256([]byte(text))
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == remote.Path {
			fmt.Fprintf(w, `{"$schema": %q, "skills": [{"name": "review", "type": "skill-md", "url": "/review.md", "digest": %q}]}`, remote.Schema, skills.Digest(sum[:]))
			return
		}
		fmt.Fprint(w, text)
	}))
	defer host.Close()
	ctx := context.Background()
	client, err := remote.New(host.URL, time.Minute)
	if err != nil {
		panic(err)
	}
	index, _, err := client.Index(ctx)
	if err != nil {
		panic(err)
	}
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path, err := client.Fetch(ctx, index.Skills[0], dir)
	fmt.Println(index.Skills[0].Name, filepath.Base(path), err)
	// Output: review skill <nil>
}
