package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// This file holds the steps with a request and its answer, which are the same
// in both revisions.

func (d *driver) lists(ctx context.Context) (string, error) {
	mark := d.watch.mark()
	var tools, resources, prompts, templates []string
	for t, err := range d.session.Tools(ctx, nil) {
		if err != nil {
			return "", err
		}
		tools = append(tools, t.Name)
	}
	for r, err := range d.session.Resources(ctx, nil) {
		if err != nil {
			return "", err
		}
		resources = append(resources, r.URI)
	}
	for t, err := range d.session.ResourceTemplates(ctx, nil) {
		if err != nil {
			return "", err
		}
		templates = append(templates, t.URITemplate)
	}
	for p, err := range d.session.Prompts(ctx, nil) {
		if err != nil {
			return "", err
		}
		prompts = append(prompts, p.Name)
	}
	want := []string{
		toolBriefing, toolCalibrate, toolForecast, toolOpen,
		toolRadar, toolRecord, toolSurvey, toolSweep,
	}
	pages := len(of(d.watch.since(mark), true, "tools/list"))
	if !slices.Equal(tools, want) || pages != 2 {
		return "", fmt.Errorf("got the tools %v in %d pages", tools, pages)
	}
	if len(resources) != 5 || len(templates) != 1 || len(prompts) != 2 {
		return "", fmt.Errorf("got resources %v, templates %v, prompts %v", resources, templates, prompts)
	}
	return "listed 8 tools in two pages, 5 resources, a template and 2 prompts", nil
}

func (d *driver) prompts(ctx context.Context) (string, error) {
	p, err := d.session.GetPrompt(ctx, &mcp.GetPromptParams{
		Name: promptPacking, Arguments: map[string]string{"city": "tokyo", "days": "5"},
	})
	if err != nil {
		return "", err
	}
	if t := textOf(p.Messages[0].Content); !strings.Contains(t, "東京 for 5 days. It has 29.5 °C") {
		return "", fmt.Errorf("%s says %q", promptPacking, t)
	}
	p, err = d.session.GetPrompt(ctx, &mcp.GetPromptParams{
		Name: promptExplain, Arguments: map[string]string{"city": "oslo"},
	})
	if err != nil {
		return "", err
	}
	if len(p.Messages) != 2 {
		return "", fmt.Errorf("%s has %d messages", promptExplain, len(p.Messages))
	}
	for _, c := range []struct {
		ref        *mcp.CompleteReference
		name, have string
		want       []string
	}{
		{&mcp.CompleteReference{Type: "ref/prompt", Name: promptPacking}, "city", "o", []string{"oslo"}},
		{&mcp.CompleteReference{Type: "ref/resource", URI: uriDay}, "date", "2026-07-2", []string{"2026-07-28", "2026-07-29"}},
	} {
		res, err := d.session.Complete(ctx, &mcp.CompleteParams{
			Ref: c.ref, Argument: mcp.CompleteParamsArgument{Name: c.name, Value: c.have},
		})
		if err != nil {
			return "", err
		}
		if !slices.Equal(res.Completion.Values, c.want) {
			return "", fmt.Errorf("%q completes to %v", c.have, res.Completion.Values)
		}
	}
	return "got 2 prompts, completed an argument of a prompt and one of a template", nil
}

func (d *driver) resources(ctx context.Context) (string, error) {
	for _, c := range []struct{ uri, want string }{
		{uriStations, "São Paulo"},
		{uriStation("oslo"), `"celsius": 14.5`},
		{uriOfDay("tokyo", "2026-07-29"), `"high": 33`},
	} {
		if err := d.reads(ctx, c.uri, c.want); err != nil {
			return "", err
		}
	}
	return "read 3 resources, one of them by a template", nil
}

// reads checks that the resource at uri contains want.
func (d *driver) reads(ctx context.Context, uri, want string) error {
	res, err := d.session.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		return err
	}
	if len(res.Contents) != 1 || res.Contents[0].URI != uri || !strings.Contains(res.Contents[0].Text, want) {
		return fmt.Errorf("%s does not contain %s", uri, want)
	}
	return nil
}

func (d *driver) quickTools(ctx context.Context) (string, error) {
	res, err := d.session.CallTool(ctx, forecastFor("saopaulo", 2))
	if err != nil {
		return "", err
	}
	if err := isForecast(res, "São Paulo", 2); err != nil {
		return "", err
	}
	res, err = d.session.CallTool(ctx, &mcp.CallToolParams{Name: toolRadar, Arguments: cityArgs{"oslo"}})
	if err != nil {
		return "", err
	}
	if len(res.Content) != 3 {
		return "", fmt.Errorf("%s returned %d contents", toolRadar, len(res.Content))
	}
	img, ok := res.Content[1].(*mcp.ImageContent)
	if !ok || len(img.Data) != 134 {
		return "", fmt.Errorf("%s returned no picture of 134 bytes", toolRadar)
	}
	return "called tools that return structured content, a picture and a link", nil
}

func forecastFor(city string, days int) *mcp.CallToolParams {
	return &mcp.CallToolParams{Name: toolForecast, Arguments: forecastArgs{city, days}}
}

func isForecast(res *mcp.CallToolResult, city string, days int) error {
	b, err := json.Marshal(res.StructuredContent)
	if err != nil {
		return err
	}
	var got forecastOut
	if err := json.Unmarshal(b, &got); err != nil {
		return err
	}
	if res.IsError || got.City != city || len(got.Days) != days {
		return fmt.Errorf("the forecast for %s is %s", city, b)
	}
	return nil
}

// failures are of two kinds: a tool that failed says so in its result, for the
// model to read, while a call that is wrong gets an error.
func (d *driver) failures(ctx context.Context) (string, error) {
	res, err := d.session.CallTool(ctx, forecastFor("atlantis", 1))
	if err != nil {
		return "", err
	}
	if !res.IsError || !strings.Contains(textOf(res.Content[0]), `no station in "atlantis"`) {
		return "", fmt.Errorf("the forecast for atlantis did not fail")
	}
	_, err = d.session.CallTool(ctx, &mcp.CallToolParams{Name: "forcast", Arguments: cityArgs{"oslo"}})
	var refused *jsonrpc.Error
	if !errors.As(err, &refused) || refused.Code != jsonrpc.CodeInvalidParams {
		return "", fmt.Errorf("an unknown tool got %w instead of error %d", err, jsonrpc.CodeInvalidParams)
	}
	return "met a tool that failed and a tool that is unknown", nil
}

func textOf(c mcp.Content) string {
	if t, ok := c.(*mcp.TextContent); ok {
		return t.Text
	}
	return ""
}

// checkPairing checks that every request was answered once, and that nothing
// was answered that was not asked.
func (d *driver) checkPairing() error {
	type key struct {
		out bool
		id  string
	}
	open := map[key]crossing{}
	for _, c := range d.watch.since(0) {
		k := key{c.out, c.id}
		switch {
		case c.isRequest():
			open[k] = c
		case c.isResponse():
			k.out = !c.out
			if _, ok := open[k]; !ok {
				return fmt.Errorf("%v answers nothing", c)
			}
			delete(open, k)
		}
	}
	for _, c := range open {
		return fmt.Errorf("%v was not answered", c)
	}
	return nil
}
