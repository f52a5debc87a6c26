// Package discovery is the vocabulary that the rest of the broker shares: a
// Server is one configured upstream, a Tool is one of its tools, and a Catalog
// is an immutable snapshot of all of them with the names that the model and its
// scripts use. The package does no I/O and needs only the standard library.
//
// Upstream connections produce a Listing per server; NewCatalog turns the
// listings, in config order, into a Catalog. A Catalog is replaced, never
// edited, so it can be shared between goroutines without locks.
package discovery

import "encoding/json"

// A Listing is what one upstream server said of itself and its tools, as it
// arrived. It is what the catalogue cache keeps on disk.
type Listing struct {
	// Server is the server's key in the configuration, verbatim.
	Server string `json:"server"`
	// Description is the configured description, else the server's own title.
	Description string `json:"description,omitempty"`
	// Transport is "stdio", "http" or "sse".
	Transport string `json:"transport"`
	// Instructions is the server's own text for clients, which may be empty.
	Instructions string `json:"instructions,omitempty"`
	// Shown is what models read of the instructions; nil if that is nothing.
	Shown *Instructions `json:"-"`
	// Version is the server's name and version as it reported them.
	Version string `json:"version,omitempty"`
	// Protocol is the negotiated protocol version, such as "2025-11-25".
	Protocol string `json:"protocol,omitempty"`
	// Unlisted means that the server never listed its tools.
	Unlisted bool `json:"-"`
	// Tools are in the order in which the server listed them.
	Tools []ListedTool `json:"tools"`
	// Prompts and Resources are what it offers beside them, as far as it was
	// listed.
	Prompts   []ListedPrompt   `json:"prompts,omitempty"`
	Resources []ListedResource `json:"resources,omitempty"`
	// Problems are tools that had to be left out or fixed, one line each.
	Problems []string `json:"problems,omitempty"`
	// Origin is where it was listed; empty if that is not known.
	Origin Origin `json:"origin,omitzero"`
	// Held is what the lists omit because it is not approved in its present form.
	Held []Held `json:"-"`
	// Skills are those that the server serves, in its order, unchecked, and
	// SkillProblems what is wrong with the list, one line each.
	Skills        []ListedSkill `json:"skills,omitempty"`
	SkillProblems []string      `json:"skillProblems,omitempty"`
}

// An Origin is the program or address of a server, without the secrets of the
// configuration.
type Origin struct {
	Command string `json:"command,omitempty"` // as one types it into a shell
	Package string `json:"package,omitempty"` // its version, if the package runs directly
	URL     string `json:"url,omitempty"`
	Version string `json:"version,omitempty"` // as the server says
}

// A Held is one thing that is held back, and why: it is "new", "changed",
// "blocked" or its pins are "unreadable". Kind is "tool", "prompt", "resource",
// "skill", "instructions" or "server"; Name is a URI for resources and skills.
type Held struct{ Kind, Name, State string }

// A ListedSkill is one entry of an upstream's skills/list (SEP-2640). The JSON
// is as it came, but for white space.
type ListedSkill struct {
	// URI is the address of its SKILL.md on that server.
	URI string `json:"uri"`
	// Frontmatter is the header of the SKILL.md.
	Frontmatter json.RawMessage `json:"frontmatter,omitempty"`
	// Resources are its files with their digests, or "dynamic".
	Resources json.RawMessage `json:"resources,omitempty"`
}

// The methods that read what a server offers beside tools. They are called like
// tools of these names, unless the server has such a tool, and are allowed and
// denied like them.
const (
	ReadResource = "resources/read"
	GetPrompt    = "prompts/get"
)

// A ListedTool is one entry of an upstream's tools/list.
type ListedTool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"inputSchema,omitempty"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Annotations  Annotations     `json:"annotations"`

	// Original is what it was before the configuration changed it; nil if it is as
	// the server listed it.
	Original *Original `json:"-"`
	// Review is the broker's judgement of a published tool, or nil.
	Review *Review `json:"-"`
}

// A Review is a judgement about a tool of a published server by a person who has read
// its code.
type Review struct {
	Class   string // spelled as in package policy
	Why     string // one line
	Package string // the name by which its server is known
}

// Annotations are an upstream's hints about a tool. They are hints: a nil
// pointer means that the server said nothing, for which the protocol assumes
// the worst (writes, destructive, open world).
type Annotations struct {
	ReadOnly    *bool `json:"readOnlyHint,omitempty"`
	Destructive *bool `json:"destructiveHint,omitempty"`
	Idempotent  *bool `json:"idempotentHint,omitempty"`
	OpenWorld   *bool `json:"openWorldHint,omitempty"`
}

// A Server is one upstream with the names under which scripts know it.
type Server struct {
	Listing
	// Prefix is the first half of the ids of its tools: the config key with every run
	// of characters other than ASCII letters and digits replaced by "_". A key with
	// letters outside ASCII, or one that is similar to another key, ends in a part of
	// its hash, as in Folder and Namespace.
	Prefix string
	// PlainPrefix is Prefix without the hash, or "" if Prefix has none.
	PlainPrefix string
	// Folder is the name of its wrapper folder and import path: the config
	// key with everything but A-Za-z0-9._- as "-".
	Folder string
	// Namespace is the camelCase identifier that scripts use without import.
	Namespace string
	// Tools are in listed order; they shadow Listing.Tools.
	Tools []*Tool

	byName map[string]*Tool // by upstream name, else by function name
}

// A Tool is one upstream tool with the names under which scripts know it.
type Tool struct {
	ListedTool
	// ID is unique in the catalogue: Prefix + "__" + the tool's own name.
	ID string
	// Server is the config key of the server that has it.
	Server string
	// Func is the camelCase function name, unique within its server without
	// regard to case.
	Func string
	// WrapperPath is the path of the typed wrapper: servers/FOLDER/FUNC.ts.
	WrapperPath string
	// PlainPrefix is the PlainPrefix of its server.
	PlainPrefix string
}

// ReadOnly reports whether the server marked the tool as read-only.
func (t *Tool) ReadOnly() bool {
	return t.Annotations.ReadOnly != nil && *t.Annotations.ReadOnly
}

// WrapsResult reports whether the tool's output schema only wraps a value that
// is not an object, as some frameworks do: its sole property is "result". Scripts
// then get the value itself.
func (t *Tool) WrapsResult() bool {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if len(t.OutputSchema) == 0 || json.Unmarshal(t.OutputSchema, &s) != nil {
		return false
	}
	_, ok := s.Properties["result"]
	return ok && len(s.Properties) == 1
}
