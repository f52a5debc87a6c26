package broker_test

import (
	"context"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
)

type listInput struct {
	Customer string `json:"customer,omitempty"`
	Limit    int    `json:"limit,omitempty"`
	Page     int    `json:"page,omitempty"`
}

type invoice struct {
	ID int `json:"id"`
}

type chargeList struct {
	Data    []invoice `json:"data"`
	HasMore bool      `json:"has_more"`
}

// pageOf returns a page of a list of twelve items.
func pageOf(in listInput) (page []invoice, more bool) {
	if in.Limit == 0 {
		in.Limit = 10
	}
	from := max(in.Page-1, 0) * in.Limit
	for id := from; id < min(from+in.Limit, 12); id++ {
		page = append(page, invoice{id})
	}
	return page, from+in.Limit < 12
}

// addListTools adds a tool that returns pages alone, and one that says whether
// there are more.
func addListTools(s *mcp.Server) {
	type invoices struct {
		Invoices []invoice `json:"invoices"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "list_invoices", Description: "List invoices."}, func(_ context.Context, _ *mcp.CallToolRequest, in listInput) (*mcp.CallToolResult, invoices, error) {
		page, _ := pageOf(in)
		return nil, invoices{page}, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "list_charges", Description: "List charges."}, func(_ context.Context, _ *mcp.CallToolRequest, in listInput) (*mcp.CallToolResult, chargeList, error) {
		page, more := pageOf(in)
		return nil, chargeList{page, more}, nil
	})
}

// The answer names an incomplete list once, unless the script has read all of it.
func TestAnswersSayWhichListsMayGoOn(t *testing.T) {
	b := newBroker(t, broker.Deps{}, broker.Settings{Servers: []upstream.Config{upstreamConfig(t, "stripe")}})
	const full, more = "stripe__list_invoices returned 5, as many as asked: there may be more", "stripe__list_charges returned 10 and says that there are more"
	for name, tt := range map[string]struct{ code, want string }{
		"as many as asked":    {`return (await stripe.listInvoices({ limit: 5 })).invoices.length`, full},
		"one page of several": {`for (let page = 1; page <= 2; page++) await stripe.listInvoices({ limit: 5, page })`, full},
		"all pages":           {`for (let page = 1; ; page++) { const { invoices } = await stripe.listInvoices({ limit: 5, page }); if (invoices.length < 5) break }`, ""},
		"all pages at once":   {`await Promise.all([1, 2, 3].map((page) => stripe.listInvoices({ limit: 5, page })))`, ""},
		"fewer than asked":    {`await stripe.listInvoices({ limit: 50 })`, ""},
		"asked again":         {`await stripe.listInvoices({ limit: 5 }); await stripe.listInvoices({ limit: 50 })`, ""},
		"one":                 {`await stripe.listInvoices({ limit: 1 })`, ""},
		"nothing asked":       {`await stripe.listInvoices({})`, ""},
		"another list ended":  {`await stripe.listInvoices({ customer: 'a', limit: 5 }); await stripe.listInvoices({ customer: 'b', limit: 50 })`, full},
		"says so":             {`await stripe.listCharges({})`, more},
		"says so in the end":  {`for (let page = 1; ; page++) if (!(await stripe.listCharges({ page })).has_more) break`, ""},
		"says no, when full":  {`await stripe.listCharges({ limit: 12 })`, ""},
		"two tools":           {`await stripe.listInvoices({ limit: 5 }); await stripe.listCharges({})`, full + "; " + more},
	} {
		a := execute(t, b, tt.code)
		if a.ExitCode != 0 || a.Hint != tt.want {
			t.Errorf("%s: exit %d, %s, hint %q, want %q", name, a.ExitCode, a.Stderr, a.Hint, tt.want)
		}
		if strings.Contains(a.Stderr, "more") {
			t.Errorf("%s: it is said twice: %s", name, a.Stderr)
		}
	}
}
