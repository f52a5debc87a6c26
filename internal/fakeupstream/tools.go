package fakeupstream

// NumbersResult is the result of "echo" in mode Numbers: it contains everything that a client
// loses if it decodes it into Go values.
const NumbersResult = `{"content":[{"type":"hologram","z":1,"a":2}],"structuredContent":{"z":9007199254740993,"a":1.10,"m":12345678901234567890,"b":[]},"vendor":{"y":1,"x":2}}`

var badAnnotations = []string{
	`{"name":"hints","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":"yes","idempotentHint":true}}`,
	`{"name":"list","inputSchema":{"type":"object"},"annotations":[]}`,
	`{"name":"numbers","title":5,"description":["a"],"inputSchema":{"type":"object"},"execution":{"taskSupport":7}}`,
	`"not a tool"`,
	`{"name":7,"inputSchema":{"type":"object"}}`,
}

var oddSchemas = []string{
	`{"name":"missing"}`,
	`{"name":"null","inputSchema":null}`,
	`{"name":"empty","inputSchema":{}}`,
	`{"name":"boolean","inputSchema":true}`,
	`{"name":"ref","inputSchema":{"$ref":"#/$defs/a","$defs":{"a":{"type":"object"}}}}`,
	`{"name":"oneof","inputSchema":{"oneOf":[{"type":"object"}]}}`,
	`{"name":"string","inputSchema":{"type":"string"}}`,
	`{"name":"order","inputSchema":{"type":"object","properties":{"z":{"maximum":9007199254740993},"a":{}}},"outputSchema":{"type":"array"}}`,
}

var oddNames = []string{
	`{"name":"echo","description":"again","inputSchema":{"type":"object"}}`,
	`{"name":"","inputSchema":{"type":"object"}}`,
	`{"inputSchema":{"type":"object"}}`,
	`{"name":"get.a b/c","inputSchema":{"type":"object"}}`,
	`{"name":"Größe","inputSchema":{"type":"object"}}`,
	`{"name":"ec\u200bho","inputSchema":{"type":"object"}}`,
	`{"name":"delete","inputSchema":{"type":"object"}}`,
}

const hiddenTool = `{"name":"hidden","title":"a\u202eb","description":"do\u200b this\u0007\u2028now \u00e9 \ud83d\ude00",` +
	`"inputSchema":{"type":"object","properties":{"p":{"description":"p\u200bq","const":"k\u200bl"}}}}`
