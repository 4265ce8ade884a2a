package demo

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// This file holds the tool that needs the client's help: the folder to write
// to (roots), what the user wants (elicitation) and a text (sampling). Before
// 2026-07-28 the server asks while the call is open. After, it ends each round
// with input_required, and the client calls again with the answers.

// The keys of the questions in an input_required result.
const (
	askFolder = "folder"
	askWishes = "wishes"
	askText   = "text"
)

// A draft is a briefing in the making. In 2026-07-28 it travels as the
// requestState, so that the server need not remember anything.
type draft struct {
	Folder string `json:"folder"`
	City   string `json:"city"`
	Tone   string `json:"tone"`
}

// briefingSteps is the total of the progress: the text, and its delivery.
const briefingSteps = 2

func (s *server) addBriefing() {
	mcp.AddTool(s.sdk, &mcp.Tool{
		Name: toolBriefing, Title: "Morning briefing",
		Description: "Writes a briefing with the help of the user and a model.",
	}, func(ctx context.Context, req *mcp.CallToolRequest, _ noArgs) (*mcp.CallToolResult, any, error) {
		interview := s.askDuring
		if req.ProtocolVersion() >= Stateless {
			interview = s.askBetween
		}
		res, err := interview(ctx, req)
		return res, nil, err
	})
}

// askDuring is the stateful way: three requests to the client.
func (s *server) askDuring(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	roots, err := req.Session.ListRoots(ctx, &mcp.ListRootsParams{})
	if err != nil {
		return nil, err
	}
	wishes, err := req.Session.Elicit(ctx, wishesForm())
	if err != nil {
		return nil, err
	}
	d, err := newDraft(roots, wishes)
	if err != nil {
		return nil, err
	}
	question, err := s.question(ctx, req, d)
	if err != nil {
		return nil, err
	}
	answer, err := req.Session.CreateMessage(ctx, question)
	if err != nil {
		return nil, err
	}
	return s.deliver(ctx, req, d, answer.Content)
}

// askBetween is the stateless way: what it needs to go on with is in the
// request, or it says what is missing. Every call may be the first that this
// process sees.
func (s *server) askBetween(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	given := req.Params.InputResponses
	if req.Params.RequestState != "" {
		d, err := decodeDraft(req.Params.RequestState)
		if err != nil {
			return nil, err
		}
		answer, ok := given[askText].(*mcp.CreateMessageWithToolsResult)
		if !ok || len(answer.Content) == 0 {
			return nil, fmt.Errorf("the answer to %q is missing", askText)
		}
		return s.deliver(ctx, req, d, answer.Content[0])
	}
	roots, haveRoots := given[askFolder].(*mcp.ListRootsResult)
	wishes, haveWishes := given[askWishes].(*mcp.ElicitResult)
	if !haveRoots || !haveWishes {
		return inputRequired("", mcp.InputRequestMap{
			askFolder: &mcp.ListRootsParams{},
			askWishes: wishesForm(),
		}), nil
	}
	d, err := newDraft(roots, wishes)
	if err != nil {
		return nil, err
	}
	question, err := s.question(ctx, req, d)
	if err != nil {
		return nil, err
	}
	return inputRequired(d.encode(), mcp.InputRequestMap{askText: question}), nil
}

// inputRequired ends a round. The SDK would write the absent content as null,
// which no revision allows.
func inputRequired(state string, ask mcp.InputRequestMap) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{}, InputRequests: ask, RequestState: state}
}

// wishesForm asks the user. The schema is text to keep the order of its
// members.
func wishesForm() *mcp.ElicitParams {
	return &mcp.ElicitParams{
		Mode:    "form",
		Message: "What should the briefing be like?",
		RequestedSchema: json.RawMessage(`{"type":"object","properties":{` +
			`"city":{"type":"string","title":"City","description":"Key of a station"},` +
			`"tone":{"type":"string","title":"Tone","enum":["plain","cheerful"],"default":"plain"}},` +
			`"required":["city"]}`),
	}
}

func newDraft(roots *mcp.ListRootsResult, wishes *mcp.ElicitResult) (draft, error) {
	if len(roots.Roots) == 0 {
		return draft{}, fmt.Errorf("there is no folder to write to")
	}
	if wishes.Action != "accept" {
		return draft{}, fmt.Errorf("no briefing then")
	}
	city, _ := wishes.Content["city"].(string)
	tone, _ := wishes.Content["tone"].(string)
	return draft{Folder: roots.Roots[0].URI, City: city, Tone: tone}, nil
}

// question asks the client's model for the text.
func (s *server) question(ctx context.Context, req *mcp.CallToolRequest, d draft) (*mcp.CreateMessageParams, error) {
	st, err := s.weather.find(d.City)
	if err != nil {
		return nil, err
	}
	if err := progress(ctx, req, 1, briefingSteps, "writing"); err != nil {
		return nil, err
	}
	return &mcp.CreateMessageParams{
		SystemPrompt: "You write weather briefings of one sentence.",
		MaxTokens:    60,
		Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{
			Text: fmt.Sprintf("A %s briefing for %s: %.1f °C, %s.", d.Tone, st.City, st.Celsius, st.Sky),
		}}},
	}, nil
}

// deliver ends both ways.
func (s *server) deliver(ctx context.Context, req *mcp.CallToolRequest, d draft, written mcp.Content) (*mcp.CallToolResult, error) {
	answer, ok := written.(*mcp.TextContent)
	if !ok {
		return nil, fmt.Errorf("the model did not answer with text")
	}
	if err := progress(ctx, req, 2, briefingSteps, "delivered"); err != nil {
		return nil, err
	}
	if err := s.pause(ctx, surveyStep); err != nil { // as in survey
		return nil, err
	}
	return textResult("%s/briefing.txt: %s", d.Folder, answer.Text), nil
}

// encode makes the requestState. A server that is out in the open would sign
// it as well, since the client could write anything there.
func (d draft) encode() string {
	b, err := json.Marshal(d)
	if err != nil {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

func decodeDraft(state string) (d draft, err error) {
	b, err := base64.RawURLEncoding.DecodeString(state)
	if err == nil {
		err = json.Unmarshal(b, &d)
	}
	if err != nil {
		return draft{}, fmt.Errorf("requestState is not ours: %w", err)
	}
	return d, nil
}
