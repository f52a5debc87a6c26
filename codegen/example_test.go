package codegen_test

import (
	"encoding/json"
	"fmt"

	"github.com/mcpbroker/mcpbroker/codegen"
	"github.com/mcpbroker/mcpbroker/discovery"
)

// What a search hit shows of a tool, and what a script runs when it imports the
// tool's server.
func Example() {
	catalog := discovery.NewCatalog([]discovery.Listing{{Server: "github", Tools: []discovery.ListedTool{{
		Name:        "list_issues",
		Description: "List the issues of a repository. Newest first.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{
			"owner":{"type":"string","description":"login of the owner"},
			"state":{"enum":["OPEN","CLOSED"],"default":"OPEN"}},"required":["owner"]}`),
	}}}})
	server := catalog.Servers()[0]
	tool := server.Tools[0]
	fmt.Println(new(codegen.Generator).Signature(server, tool))
	fmt.Println()
	fmt.Println(new(codegen.Generator).Declaration(server, tool))
	fmt.Println()
	fmt.Print(codegen.RunModule(server, nil).Source)
	// Output:
	// github.listIssues(input: { owner: string; state?: "OPEN" | "CLOSED" }): Promise<any>
	//
	// /** List the issues of a repository. */
	// github.listIssues(input: {
	//   owner: string; // login of the owner
	//   state?: "OPEN" | "CLOSED"; // default "OPEN"
	// }): Promise<any>
	//
	// import { callMCPTool } from './helpers/callMCPTool';
	// export const listIssues = (input) => callMCPTool("github__list_issues", input);
}
