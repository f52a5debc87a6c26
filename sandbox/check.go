package sandbox

import (
	"context"
	"encoding/json"
)

// A CheckFunc judges a program that was parsed and has not begun to run. It is
// called at most once for each program, from one goroutine, and must return
// soon after ctx is done. A verdict with problems refuses the program.
type CheckFunc func(ctx context.Context, p Parsed) Verdict

// Parsed is what the text of a program says, as far as it is certain. All
// offsets are in bytes of Request.Code. It comes from the runner, which is not
// trusted: an offset may be anything.
type Parsed struct {
	// Calls are the host calls with a literal target.
	Calls []CallSite `json:"calls,omitempty"`
	// Names are the identifiers that are neither declared in the program nor
	// part of the language or of this runtime, one entry each.
	Names []FreeName `json:"names,omitempty"`
	// Source is the program as an ES module in TypeScript, if it was asked for:
	// an async function around the statements, and the imports behind it.
	Source string `json:"source,omitempty"`
}

// A CallSite is one call in the text of a program.
type CallSite struct {
	// Target is Call.Target of the call that will be made.
	Target string `json:"target"`
	// Offset is where the name of what is called stands.
	Offset int `json:"at"`
	// Input is the argument of the call.
	Input Literal `json:"input"`
}

// A FreeName is an identifier that nothing declares.
type FreeName struct {
	Name   string `json:"name"`
	Offset int    `json:"at"`
	// Called says that the program calls it, or a member of it, without having
	// asked for its type: what does so ends with a ReferenceError.
	Called bool `json:"called,omitempty"`
	// Withheld means that the runtime leaves out the name on purpose.
	Withheld bool `json:"withheld,omitempty"`
}

// A Literal is what the text of a program says of a value.
type Literal struct {
	Kind LiteralKind `json:"kind,omitempty"`
	// Offset is where it begins.
	Offset int `json:"at"`
	// Value is the JSON of a LiteralValue.
	Value json.RawMessage `json:"value,omitempty"`
	// Open says that an object may have more keys than Fields, or an array
	// other elements than Items.
	Open bool `json:"open,omitempty"`
	// Fields are the keys that an object has for certain, each once.
	Fields []LiteralField `json:"fields,omitempty"`
	// Items are the elements of an array, unless it is Open.
	Items []Literal `json:"items,omitempty"`
}

// A LiteralField is a key of an object and its value.
type LiteralField struct {
	Name   string  `json:"name"`
	Offset int     `json:"at"`
	Value  Literal `json:"value"`
}

// A LiteralKind says what is known of a value.
type LiteralKind string

// The kinds of literals.
const (
	LiteralUnknown   LiteralKind = ""          // nothing
	LiteralValue     LiteralKind = "value"     // a string, a number, a boolean or null
	LiteralText      LiteralKind = "text"      // a string, but not which
	LiteralUndefined LiteralKind = "undefined" // JSON leaves it out
	LiteralObject    LiteralKind = "object"
	LiteralArray     LiteralKind = "array"
)

// A Verdict is what a CheckFunc finds.
type Verdict struct {
	// Problems refuse the program with ExitRefused.
	Problems []Problem `json:"problems,omitempty"`
	// Notes become notes of the result.
	Notes []string `json:"notes,omitempty"`
	// Hints say where names can be had that are not defined, by name. They are
	// shown when the program fails for one.
	Hints map[string]string `json:"hints,omitempty"`
	// Shapes are what the answers of calls are known to look like, by
	// CallSite.Target. A read of a property that is not in them is noted in
	// Result.Reads.
	Shapes map[string]*Shape `json:"shapes,omitempty"`
}

// UnwrapNames are the properties and methods that programs read to unwrap a result of a
// call as other clients return it. Result.Absent contains no others.
func UnwrapNames() []string {
	return []string{"content", "structuredContent", "structured_content", "text", "type", "data", "mimeType", "find", "map", "filter", "forEach", "some", "flatMap"}
}

// A Shape is what is known of the values at one place of an answer. Reads are
// watched of objects with Props that are not Open.
type Shape struct {
	// Props are the known properties of an object, each with the shape of its
	// value, which may be empty but not nil.
	Props map[string]*Shape `json:"p,omitempty"`
	// Open says that any other property may be there too.
	Open bool `json:"o,omitempty"`
	// Elem is the shape of the elements of an array; nil if nothing is known.
	Elem *Shape `json:"e,omitempty"`
	// Closed says that an object never has any but these properties: a read of
	// another one that does not test for it throws.
	Closed bool `json:"c,omitempty"`
}

// A Problem is one reason not to run a program.
type Problem struct {
	// Offset is where it is: in Request.Code, or in Parsed.Source if InSource.
	Offset   int  `json:"at"`
	InSource bool `json:"in_source,omitempty"`
	// Message says what is wrong, on one line.
	Message string `json:"message"`
	// Hint is shown behind the line of the program; it may be empty.
	Hint string `json:"hint,omitempty"`
}
