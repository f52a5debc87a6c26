package discovery

// A ListedPrompt is one entry of an upstream's prompts/list.
type ListedPrompt struct {
	Name        string           `json:"name"`
	Title       string           `json:"title,omitempty"`
	Description string           `json:"description,omitempty"`
	Arguments   []PromptArgument `json:"arguments,omitempty"`
}

// A PromptArgument is what a prompt can be given. Its value is text.
type PromptArgument struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

// A ListedResource is one entry of an upstream's resources/list or
// resources/templates/list.
type ListedResource struct {
	// URI is what it is read by. Of a template it is the URI template (RFC 6570)
	// that one is made of.
	URI         string `json:"uri"`
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	MIMEType    string `json:"mimeType,omitempty"`
	Template    bool   `json:"template,omitempty"`
}
