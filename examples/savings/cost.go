package main

import "flag"

// assumptions are what no record says. Each has a flag and a source, in docs/how-it-works.md.
type assumptions struct {
	result int     // tokens of the result of one call
	read   float64 // the part of the results that the model has to read itself
	glue   int     // tokens of a script for each call, beside the call
	each   bool    // a script for each call
	needed bool    // the client has only the servers that the task needs
	reread float64 // the price of a token that was read in an earlier turn
	search int     // with --audit: tokens of a search and its answer
}

func (a *assumptions) addFlags(flags *flag.FlagSet) {
	flags.IntVar(&a.result, "result", 279, "`tokens` of the result of a call; the default is that of examples/quickstart: 131,559 bytes in 118 calls, four bytes a token")
	flags.Float64Var(&a.read, "read", 1, "`part` of the results that the model must read itself; 1 means that scripts keep nothing out")
	flags.IntVar(&a.glue, "glue", 127, "`tokens` of a script for each call, beside the call; the default is a fifth of examples/quickstart/report.ts (634), which names five tools")
	flags.BoolVar(&a.each, "script-per-call", false, "each call needs a script of its own, as when the model must see every result first")
	flags.BoolVar(&a.needed, "needed", false, "only the servers that the task needs are connected, to the client or to the broker")
	flags.Float64Var(&a.reread, "reread", 1, "`price` of a token that an earlier turn has read, as part of a new one; 1 means no prompt cache")
	flags.IntVar(&a.search, "search", 0, "with --audit, `tokens` of the searches before a script, which the record does not have")
}

// A cost is what a model reads for a task.
type cost struct {
	definitions int     // of the tools, in every turn
	window      int     // the context after the last turn: everything once
	read        float64 // the input of all turns
}

// An exchange is one turn of the model: the call that it writes, and the answer.
type exchange struct{ call, answer int }

// spend is the formula. The first turn reads definitions and prompt; each further turn
// reads all that was there before again, and the last call and its answer. A last turn
// that answers the user follows the last exchange.
func spend(definitions, prompt int, list []exchange, reread float64) cost {
	c := cost{definitions: definitions, window: definitions + prompt}
	c.read = float64(c.window)
	for _, x := range list {
		c.read += reread*float64(c.window) + float64(x.call+x.answer)
		c.window += x.call + x.answer
	}
	return c
}

// breakEven returns the number of tokens of tool definitions with which a client without the broker
// reads as many tokens as a client with the broker; it returns 0 if it reads more even without
// definitions.
func breakEven(direct, broker cost, turns int, reread float64) int {
	perToken := 1 + reread*float64(turns)
	rest := direct.read - perToken*float64(direct.definitions)
	return max(0, int((broker.read-rest)/perToken))
}
