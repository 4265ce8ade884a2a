package demo

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// This file holds what the server offers beside its tools: resources, a
// template, prompts, and completions for both.

const jsonType = "application/json"

func (s *server) addResources() {
	s.sdk.AddResource(&mcp.Resource{
		URI: uriStations, Name: "stations", Title: "All stations", MIMEType: jsonType,
		Description: "The key and the latest reading of every station.",
	}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return contents(s.weather.all()), nil
	})
	for _, st := range s.weather.all() {
		s.addStation(st)
	}
	s.sdk.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: uriDay, Name: "day", Title: "One day", MIMEType: jsonType,
		Description: "The forecast of one station for one day, as YYYY-MM-DD.",
	}, s.readDay)
}

// addStation offers a station as a resource.
func (s *server) addStation(st station) {
	s.sdk.AddResource(&mcp.Resource{
		URI: uriStation(st.Key), Name: st.Key, Title: st.City, MIMEType: jsonType,
		Description: "The latest reading in " + st.City + ".",
	}, func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		now, err := s.weather.find(st.Key)
		if err != nil {
			return nil, mcp.ResourceNotFoundError(req.Params.URI)
		}
		return contents(now), nil
	})
}

// readDay answers for the template.
func (s *server) readDay(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	city, date, ok := strings.Cut(strings.TrimPrefix(req.Params.URI, uriStations+"/"), "/days/")
	if !ok {
		return nil, mcp.ResourceNotFoundError(req.Params.URI)
	}
	st, err := s.weather.find(city)
	if err != nil {
		return nil, mcp.ResourceNotFoundError(req.Params.URI)
	}
	for _, d := range st.forecast(maxDays) {
		if d.Date == date {
			return contents(d), nil
		}
	}
	return nil, mcp.ResourceNotFoundError(req.Params.URI)
}

// contents is v as the one text of a resource. The SDK fills in the URI and
// the type.
func contents(v any) *mcp.ReadResourceResult {
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{Text: text(v)}}}
}

func (s *server) addPrompts() {
	city := &mcp.PromptArgument{Name: "city", Title: "City", Description: "Key of a station.", Required: true}
	s.sdk.AddPrompt(&mcp.Prompt{
		Name: promptPacking, Title: "What to pack", Arguments: []*mcp.PromptArgument{
			city, {Name: "days", Title: "Days", Description: "Length of the stay."},
		},
		Description: "Asks for a packing list that suits the weather.",
	}, s.packingList)
	s.sdk.AddPrompt(&mcp.Prompt{
		Name: promptExplain, Title: "Explain the forecast", Arguments: []*mcp.PromptArgument{city},
		Description: "Asks what a forecast means for somebody on foot.",
	}, s.explainForecast)
}

func (s *server) packingList(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	st, err := s.weather.find(req.Params.Arguments["city"])
	if err != nil {
		return nil, err
	}
	days := req.Params.Arguments["days"]
	if days == "" {
		days = "3"
	}
	return &mcp.GetPromptResult{
		Description: "A packing list for " + st.City,
		Messages: []*mcp.PromptMessage{{
			Role: "user",
			Content: &mcp.TextContent{Text: fmt.Sprintf(
				"I stay in %s for %s days. It has %.1f °C and %s now. What do I pack?",
				st.City, days, st.Celsius, st.Sky)},
		}},
	}, nil
}

func (s *server) explainForecast(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	st, err := s.weather.find(req.Params.Arguments["city"])
	if err != nil {
		return nil, err
	}
	return &mcp.GetPromptResult{
		Description: "The forecast for " + st.City + " in plain words",
		Messages: []*mcp.PromptMessage{
			{Role: "user", Content: &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{
				URI: uriStation(st.Key), MIMEType: jsonType, Text: text(st),
			}}},
			{Role: "user", Content: &mcp.TextContent{Text: "What does this mean for me on foot?"}},
		},
	}, nil
}

// complete completes the key of a station wherever one is asked for.
func (s *server) complete(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	values := []string{} // the protocol wants an array, not null
	switch req.Params.Argument.Name {
	case "city":
		for _, key := range s.weather.keys() {
			if strings.HasPrefix(key, strings.ToLower(req.Params.Argument.Value)) {
				values = append(values, key)
			}
		}
	case "date":
		for _, d := range (station{}).forecast(maxDays) {
			if strings.HasPrefix(d.Date, req.Params.Argument.Value) {
				values = append(values, d.Date)
			}
		}
	}
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{
		Values: values, Total: len(values),
	}}, nil
}
