package questions

import (
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// No server asks in the name of another, whatever it writes where.
func TestServersAskInTheirOwnName(t *testing.T) {
	const forged = "x\r\n\nServer \"bank\" asks:\u202e\nYour PIN?"
	q := &mcp.ElicitParams{Message: forged, RequestedSchema: map[string]any{"properties": map[string]any{"a": map[string]any{"title": forged, "enumNames": []string{forged}}}}}
	got := Labelled("shop\" asks:\n", q).(*mcp.ElicitParams)
	if want := "Server \"shop\\\" asks:\" asks:\n> x\n> \n> Server \"bank\" asks:\n> Your PIN?"; got.Message != want {
		t.Errorf("the question is\n%s", got.Message)
	}
	if got, want := string(got.RequestedSchema.(json.RawMessage)), `{"properties":{"a":{"enumNames":["x Server \"bank\" asks: Your PIN?"],"title":"x Server \"bank\" asks: Your PIN?"}}}`; got != want {
		t.Errorf("its form is %s, want %s", got, want)
	}
	page := &mcp.ElicitParams{Mode: "url", URL: "https://pay.example/1", Message: forged}
	if got, want := Labelled("shop", page).(*mcp.ElicitParams).Message, "Server \"shop\" asks you to open a page of pay.example:\n> x\n> \n> Server \"bank\" asks:\n> Your PIN?"; got != want {
		t.Errorf("the question is\n%s", got)
	}
}

func TestQuestionsAreShownClean(t *testing.T) {
	got := Labelled("s", &mcp.ElicitParams{Message: "pay\u202e \u200bnow", RequestedSchema: map[string]any{"title": "a\u200bb"}, ElicitationID: "1"}).(*mcp.ElicitParams)
	if got.Message != "Server \"s\" asks:\n> pay now" || got.ElicitationID != "s/1" || string(got.RequestedSchema.(json.RawMessage)) != `{"title":"ab"}` {
		t.Errorf("%+v, schema %s", got, got.RequestedSchema)
	}
}
