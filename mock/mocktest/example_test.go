package mocktest_test

import (
	"context"
	"os/exec"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcptap/mcptap/mock/mocktest"
)

func TestForecast(t *testing.T) {
	m := mocktest.Start(t, "testdata/session.txtar")
	command := m.Command()
	client := mcp.NewClient(&mcp.Implementation{Name: "my-client", Version: "2.0.0"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"day": "Sunday"}}, nil
		},
	})
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: exec.Command(command[0], command[1:]...)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "forecast", Arguments: map[string]any{"city": "Oslo"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := result.Content[0].(*mcp.TextContent).Text; got != "Sunday in Oslo: 15.5 degrees, partly cloudy" {
		t.Error(got)
	}
}

// The same test over HTTP.
func TestURL(t *testing.T) {
	m := mocktest.Start(t, "testdata/session.txtar", mocktest.Verify())
	for name, transport := range map[string]mcp.Transport{
		"Streamable HTTP": &mcp.StreamableClientTransport{Endpoint: m.URL()},
		"HTTP+SSE":        &mcp.SSEClientTransport{Endpoint: m.EventsURL()},
	} {
		client := mcp.NewClient(&mcp.Implementation{Name: "my-client", Version: "2.0.0"}, &mcp.ClientOptions{
			ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"day": "Sunday"}}, nil
			},
		})
		session, err := client.Connect(t.Context(), transport, nil)
		if err != nil {
			t.Fatal(name, err)
		}
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "forecast", Arguments: map[string]any{"city": "Oslo"}})
		if err != nil {
			t.Fatal(name, err)
		}
		if got := result.Content[0].(*mcp.TextContent).Text; got != "Sunday in Oslo: 15.5 degrees, partly cloudy" {
			t.Error(name, got)
		}
		session.Close()
	}
}

func Example() {
	// In the test
	//
	//	func TestForecast(t *testing.T) {
	var t *testing.T

	m := mocktest.Start(t, "testdata/session.txtar", mocktest.Match("subset"), mocktest.Verify())
	r, w := m.Pipe()
	client := mcp.NewClient(&mcp.Implementation{Name: "my-client", Version: "2.0.0"}, nil)
	session, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: r, Writer: w}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
}
