package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker/surface"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/redact"
	"github.com/mcpbroker/mcpbroker/policy"
	"github.com/mcpbroker/mcpbroker/sandbox"
)

const (
	// maxApprovals is how often one execution asks: clients end a request that
	// comes back more often, and people stop reading.
	maxApprovals = 8
	// maxAskedArguments is how much of the arguments a question shows.
	maxAskedArguments = 2000
)

// What a person may say of a call.
const (
	sayDeny = "deny"
	sayOnce = "allow once"
)

var approvalForm = json.RawMessage(`{"type":"object","properties":{"call":{"type":"string","title":"Allow this call?",` +
	`"enum":["` + sayDeny + `","` + sayOnce + `"],"default":"` + sayDeny + `"}},"required":["call"]}`)

// approve asks the person at the client about a call. An error means that nobody
// has answered, and says why.
func (x *Execution) approve(ctx context.Context, t *discovery.Tool, args json.RawMessage, d policy.Decision) (bool, error) {
	talker := x.Request.Talker
	if talker == nil || !talker.Capabilities().Form {
		return false, errors.New("this client cannot show a question")
	}
	defer sandbox.Pause(ctx)()
	x.asking.Lock()
	defer x.asking.Unlock()
	if x.asked++; x.asked > maxApprovals {
		return false, fmt.Errorf("this run has asked %d times, which is the most", maxApprovals)
	}
	// Each on one line, so that no argument looks like a part of the question.
	shown := gate.Cut(gate.Line(string(redact.JSON(args, 2*maxAskedArguments))), maxAskedArguments)
	q := surface.FormQuestion(approvalForm, gate.NewText(fmt.Sprintf("Call %s of server %s? It %s.\nArguments: %s",
		gate.Name(t.Name), gate.Name(t.Server), d.Reason, shown)))
	answer, err := talker.Answer(ctx, q)
	if err != nil {
		return false, err
	}
	form, ok := answer.(*mcp.ElicitResult)
	if !ok {
		return false, errors.New("its answer is no answer to a form")
	}
	said, _ := form.Content["call"].(string)
	return form.Action == "accept" && said == sayOnce, nil
}
