package demo

import (
	"context"
	"encoding/base64"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// This file holds the tools that answer at once, or nearly so.

type forecastArgs struct {
	City string `json:"city" jsonschema:"key of a station"`
	Days int    `json:"days,omitempty" jsonschema:"how many days, 1 to 3; 1 if not given"`
}

type forecastOut struct {
	City string `json:"city"`
	Days []day  `json:"days"`
}

type cityArgs struct {
	City string `json:"city" jsonschema:"key of a station"`
}

type readingArgs struct {
	City    string  `json:"city" jsonschema:"key of a station"`
	Celsius float64 `json:"celsius" jsonschema:"temperature in degrees Celsius"`
}

type stationArgs struct {
	Key  string `json:"key" jsonschema:"key of the new station"`
	City string `json:"city" jsonschema:"name of the city"`
}

// perDay is what one day of a forecast takes. A short forecast overtakes a
// long one, and both overtake a calibration.
const perDay = 100 * time.Millisecond

func (s *server) addQuickTools() {
	addTool(s, &mcp.Tool{
		Name: toolForecast, Title: "Forecast", Annotations: readOnly(),
		Description: "The weather of the next days at one station.",
	}, s.forecast)
	mcp.AddTool(s.sdk, &mcp.Tool{
		Name: toolRadar, Title: "Rain radar", Annotations: readOnly(),
		Description: "A picture of the rain around a station.",
	}, s.radar)
	mcp.AddTool(s.sdk, &mcp.Tool{
		Name: toolRecord, Title: "Record a reading",
		Description: "Stores a reading and tells whoever subscribed to the station.",
	}, s.record)
	mcp.AddTool(s.sdk, &mcp.Tool{
		Name: toolOpen, Title: "Open a station",
		Description: "Adds a station, and a tool that closes it again.",
	}, s.open)
}

func (s *server) forecast(ctx context.Context, in forecastArgs) (forecastOut, error) {
	st, err := s.weather.find(in.City)
	if err != nil {
		return forecastOut{}, err
	}
	n := min(max(in.Days, 1), maxDays)
	if err := s.work(ctx, time.Duration(n)*perDay); err != nil {
		return forecastOut{}, err
	}
	return forecastOut{City: st.City, Days: st.forecast(n)}, nil
}

// radarPNG is a picture of 16 by 16 grey points: rings of rain.
const radarPNG = "iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAAAAAA6mKC9AAAATUlEQVR42nWPwQ0AIAgDGcExGMsh" +
	"GdC2AY0S72N6AQEzMoQVY3PyBGUUHUhJIAaAomCBByvCVZKZXTIp5n5+4mp5Pm1j+2Jt9X7cff4CwNoq0fs7jEwAAAAASUVORK5CYII="

func (s *server) radar(_ context.Context, _ *mcp.CallToolRequest, in cityArgs) (*mcp.CallToolResult, any, error) {
	st, err := s.weather.find(in.City)
	if err != nil {
		return nil, nil, err
	}
	picture, err := base64.StdEncoding.DecodeString(radarPNG)
	if err != nil {
		return nil, nil, err
	}
	return &mcp.CallToolResult{Content: []mcp.Content{
		&mcp.TextContent{Text: "Rain around " + st.City + ", 50 km:"},
		&mcp.ImageContent{Data: picture, MIMEType: "image/png"},
		&mcp.ResourceLink{URI: uriStation(st.Key), Name: st.Key, Title: st.City, MIMEType: jsonType},
	}}, nil, nil
}

func (s *server) record(ctx context.Context, _ *mcp.CallToolRequest, in readingArgs) (*mcp.CallToolResult, any, error) {
	st, err := s.weather.find(in.City)
	if err != nil {
		return nil, nil, err
	}
	st.Celsius, st.At = in.Celsius, updatedAt
	s.weather.set(st)
	err = s.sdk.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: uriStation(st.Key)})
	return textResult("%s: %.1f °C", st.City, st.Celsius), nil, err
}

// notifyLimit ends the wait for a notification that never leaves, since nobody
// listens for it. Otherwise the SDK sends it from a timer of 10 ms.
const notifyLimit = time.Second

// afterNotifying makes a change and waits until method has told the client, so
// that two notifications and the answer leave in the same order each time.
func (s *server) afterNotifying(ctx context.Context, method string, change func()) error {
	left := make(chan struct{})
	s.mu.Lock()
	s.leaving[method] = left
	s.mu.Unlock()
	change()
	return s.wait(ctx, notifyLimit, left)
}

// noteLeaving is a middleware for what the server sends.
func (s *server) noteLeaving(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		s.mu.Lock()
		defer s.mu.Unlock()
		if left, ok := s.leaving[method]; ok {
			close(left)
			delete(s.leaving, method)
		}
		return res, err
	}
}

// open changes two lists: that of the tools, then that of the resources.
func (s *server) open(ctx context.Context, _ *mcp.CallToolRequest, in stationArgs) (*mcp.CallToolResult, any, error) {
	st := station{Key: in.Key, City: in.City, Celsius: 21, Sky: "clear", At: readingAt}
	if !s.weather.set(st) {
		return nil, nil, fmt.Errorf("there is a station in %s already", st.City)
	}
	err := s.afterNotifying(ctx, toolsChanged, func() {
		mcp.AddTool(s.sdk, &mcp.Tool{
			Name: toolClose, Title: "Close the new station",
			Description: "Takes " + st.City + " off the list again, and itself.",
		}, func(ctx context.Context, _ *mcp.CallToolRequest, _ noArgs) (*mcp.CallToolResult, any, error) {
			return s.close(ctx, st)
		})
	})
	if err != nil {
		return nil, nil, err
	}
	if err := s.afterNotifying(ctx, resourcesChanged, func() { s.addStation(st) }); err != nil {
		return nil, nil, err
	}
	return textResult("The station in %s is open.", st.City), nil, nil
}

// close undoes open.
func (s *server) close(ctx context.Context, st station) (*mcp.CallToolResult, any, error) {
	s.weather.drop(st.Key)
	if err := s.afterNotifying(ctx, toolsChanged, func() { s.sdk.RemoveTools(toolClose) }); err != nil {
		return nil, nil, err
	}
	if err := s.afterNotifying(ctx, resourcesChanged, func() { s.sdk.RemoveResources(uriStation(st.Key)) }); err != nil {
		return nil, nil, err
	}
	return textResult("The station in %s is closed.", st.City), nil, nil
}
