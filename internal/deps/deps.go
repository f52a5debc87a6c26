// Package deps pins modules while their users are being written.
package deps

import (
	_ "github.com/agnivade/levenshtein"
	_ "github.com/blevesearch/bleve/v2"
	_ "github.com/dop251/goja"
	_ "github.com/dop251/goja/parser"
	_ "github.com/evanw/esbuild/pkg/api"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/google/jsonschema-go/jsonschema"
	_ "github.com/modelcontextprotocol/go-sdk/mcp"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "github.com/spf13/cobra"
	_ "github.com/tailscale/hujson"
	_ "github.com/tiktoken-go/tokenizer"
	_ "golang.org/x/sync/errgroup"
	_ "golang.org/x/sys/unix"
	_ "golang.org/x/term"
	_ "golang.org/x/text/width"
	_ "golang.org/x/tools/txtar"
	_ "modernc.org/sqlite"
)
