package demo

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Serve runs the server on in and out until the client closes in. It returns an error if ctx ends
// first. It writes log messages to stderr, one line per write, and closes in and out.
func Serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser, stderr io.Writer) error {
	s := &server{weather: newWeather(), stop: ctx.Done(), log: log.New(stderr, serverName+": ", 0)}
	s.sdk = mcp.NewServer(&mcp.Implementation{
		Name: serverName, Title: "Weather stations", Version: version,
	}, &mcp.ServerOptions{
		Instructions: "Ask for a forecast by the key of a station. " +
			"The keys are in " + uriStations + ".",
		PageSize:          5, // the tools need a second page
		CompletionHandler: s.complete,
		// The SDK manages the subscriptions if both handlers are set.
		SubscribeHandler: func(_ context.Context, req *mcp.SubscribeRequest) error {
			s.log.Printf("subscribed: %s", req.Params.URI)
			return nil
		},
		UnsubscribeHandler: func(_ context.Context, req *mcp.UnsubscribeRequest) error {
			s.log.Printf("unsubscribed: %s", req.Params.URI)
			return nil
		},
		RootsListChangedHandler: func(context.Context, *mcp.RootsListChangedRequest) {
			s.log.Printf("the client has other roots now")
		},
		// Lists may be cached for a minute, readings not at all.
		SetCacheable: func(_ context.Context, req mcp.Request, c *mcp.Cacheable) {
			if _, isRead := req.(*mcp.ReadResourceRequest); !isRead {
				c.TTLMs = 60_000
			}
		},
	})
	s.addResources()
	s.addPrompts()
	s.addTools()
	s.log.Printf("ready, %d stations", len(s.weather.all()))
	if err := s.sdk.Run(ctx, &mcp.IOTransport{Reader: in, Writer: out}); err != nil {
		return fmt.Errorf("%s: %w", serverName, err)
	}
	s.log.Printf("the client has left, bye")
	return nil
}

// A server is the weather service on the server of the SDK.
type server struct {
	sdk     *mcp.Server
	weather *weather
	// stop ends the pauses of handlers when Serve's context ends, which the SDK does not pass to
	// them.
	stop <-chan struct{}
	log  *log.Logger // ignores errors: a closed stderr must not end the service
}

// pause waits. It returns early with an error if the client cancels the request, or the server
func (s *server) pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.stop:
		return context.Canceled
	}
}

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
	}, func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		city, date, _ := strings.Cut(strings.TrimPrefix(req.Params.URI, uriStations+"/"), "/days/")
		if st, err := s.weather.find(city); err == nil {
			for _, d := range st.forecast(maxDays) {
				if d.Date == date {
					return contents(d), nil
				}
			}
		}
		return nil, mcp.ResourceNotFoundError(req.Params.URI)
	})
}

// addStation adds a station as a resource.
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

// contents returns v as the text of a resource. The SDK adds the URI and the type.
func contents(v any) *mcp.ReadResourceResult {
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{Text: text(v)}}}
}

func (s *server) addPrompts() {
	s.addPrompt(&mcp.Prompt{
		Name: "packing_list", Title: "What to pack", Arguments: []*mcp.PromptArgument{
			cityArgument, {Name: "days", Title: "Days", Description: "Length of the stay."},
		},
		Description: "Asks for a packing list that suits the weather.",
	}, func(st station, args map[string]string) *mcp.GetPromptResult {
		return promptOf("A packing list for "+st.City, &mcp.TextContent{Text: fmt.Sprintf(
			"I stay in %s for %s days. It has %.1f °C and %s now. What do I pack?",
			st.City, cmp.Or(args["days"], "3"), st.Celsius, st.Sky)})
	})
	s.addPrompt(&mcp.Prompt{
		Name: "explain_forecast", Title: "Explain the forecast", Arguments: []*mcp.PromptArgument{cityArgument},
		Description: "Asks what a forecast means for somebody on foot.",
	}, func(st station, _ map[string]string) *mcp.GetPromptResult {
		return promptOf("The forecast for "+st.City+" in plain words",
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: uriStation(st.Key), MIMEType: jsonType, Text: text(st)}},
			&mcp.TextContent{Text: "What does this mean for me on foot?"})
	})
}

var cityArgument = &mcp.PromptArgument{Name: "city", Title: "City", Description: "Key of a station.", Required: true}

// addPrompt adds a prompt about the station that the argument city names.
func (s *server) addPrompt(p *mcp.Prompt, h func(st station, args map[string]string) *mcp.GetPromptResult) {
	s.sdk.AddPrompt(p, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		st, err := s.weather.find(req.Params.Arguments["city"])
		if err != nil {
			return nil, err
		}
		return h(st, req.Params.Arguments), nil
	})
}

func promptOf(description string, content ...mcp.Content) *mcp.GetPromptResult {
	p := &mcp.GetPromptResult{Description: description}
	for _, c := range content {
		p.Messages = append(p.Messages, &mcp.PromptMessage{Role: "user", Content: c})
	}
	return p
}

// complete completes station keys and dates.
func (s *server) complete(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	var known []string
	switch req.Params.Argument.Name {
	case "city":
		known = s.weather.keys()
	case "date":
		for _, d := range (station{}).forecast(maxDays) {
			known = append(known, d.Date)
		}
	}
	values := []string{} // the protocol requires an array, not null
	for _, v := range known {
		if strings.HasPrefix(v, strings.ToLower(req.Params.Argument.Value)) {
			values = append(values, v)
		}
	}
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: values, Total: len(values)}}, nil
}
