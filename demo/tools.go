package demo

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The durations of tools. A one-day forecast is faster than a three-day one, and both are faster than
// a calibration.
const (
	perDay      = 100 * time.Millisecond
	calibration = 600 * time.Millisecond
	surveyStep  = 50 * time.Millisecond // per station
	// sweepLimit limits a sweep that is not cancelled.
	sweepLimit = 20 * time.Second
	// listsPause keeps two notifications and a response in order: the SDK sends
	// list_changed after 10 ms.
	listsPause = 50 * time.Millisecond
)

type (
	noArgs       struct{}
	forecastArgs struct {
		City string `json:"city" jsonschema:"key of a station"`
		Days int    `json:"days,omitempty" jsonschema:"how many days, 1 to 3; 1 if not given"`
	}
	forecastOut struct {
		City string `json:"city"`
		Days []day  `json:"days"`
	}
	cityArgs struct {
		City string `json:"city" jsonschema:"key of a station"`
	}
	readingArgs struct {
		City    string  `json:"city" jsonschema:"key of a station"`
		Celsius float64 `json:"celsius" jsonschema:"temperature in degrees Celsius"`
	}
	stationArgs struct {
		Key  string `json:"key" jsonschema:"key of the new station"`
		City string `json:"city" jsonschema:"name of the city"`
	}
	surveyOut struct {
		Stations int     `json:"stations"`
		Mean     float64 `json:"mean" jsonschema:"mean temperature in degrees Celsius"`
	}
)

// A call is the context and the request of a call.
type call struct {
	context.Context
	req *mcp.CallToolRequest
}

// add adds a tool with an unstructured result.
func add[In any](s *server, t *mcp.Tool, h func(call, In) (*mcp.CallToolResult, error)) {
	mcp.AddTool(s.sdk, t, func(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
		res, err := h(call{ctx, req}, in)
		return res, nil, err
	})
}

// readOnly returns the annotations of a tool without effects.
func readOnly() *mcp.ToolAnnotations {
	no := false
	return &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &no}
}

// addStructured adds a read-only tool with a structured result.
func addStructured[In, Out any](s *server, t *mcp.Tool, h func(call, In) (Out, error)) {
	t.Annotations = readOnly()
	mcp.AddTool(s.sdk, t, func(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		out, err := h(call{ctx, req}, in)
		return nil, out, err
	})
}

func (s *server) addTools() {
	addStructured(s, &mcp.Tool{
		Name: "forecast", Title: "Forecast",
		Description: "The weather of the next days at one station.",
	}, s.forecast)
	add(s, &mcp.Tool{
		Name: "radar", Title: "Rain radar", Annotations: readOnly(),
		Description: "A picture of the rain around a station.",
	}, s.radar)
	add(s, &mcp.Tool{
		Name: "record_reading", Title: "Record a reading",
		Description: "Stores a reading and tells whoever subscribed to the station.",
	}, s.record)
	add(s, &mcp.Tool{
		Name: "open_station", Title: "Open a station",
		Description: "Adds a station, and a tool that closes it again.",
	}, s.open)
	addStructured(s, &mcp.Tool{
		Name: "survey", Title: "Survey",
		Description: "Reads all stations one after the other and reports its progress.",
	}, s.survey)
	add(s, &mcp.Tool{
		Name: "calibrate", Title: "Calibrate",
		Description: "Calibrates the thermometer of a station, which takes a moment.",
	}, s.calibrate)
	add(s, &mcp.Tool{
		Name: "sweep", Title: "Sweep", Annotations: readOnly(),
		Description: "Turns the radar until the call is cancelled.",
	}, s.sweep)
	add(s, &mcp.Tool{
		Name: "briefing", Title: "Morning briefing",
		Description: "Writes a briefing with the help of the user and a model.",
	}, s.briefing)
}

func textResult(format string, args ...any) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}}}
}

// progress reports the progress of a call, if its client requested it.
func (c call) progress(done, total float64, message string) error {
	token := c.req.Params.GetProgressToken()
	if token == nil {
		return nil
	}
	return c.req.Session.NotifyProgress(c, &mcp.ProgressNotificationParams{
		ProgressToken: token, Progress: done, Total: total, Message: message,
	})
}

// note sends a log message to the client, if the client's level allows it.
func (c call) note(level mcp.LoggingLevel, data map[string]any) error {
	return c.req.Session.Log(c, &mcp.LoggingMessageParams{Level: level, Logger: "stations", Data: data})
}

func (s *server) forecast(c call, in forecastArgs) (forecastOut, error) {
	st, err := s.weather.find(in.City)
	if err != nil {
		return forecastOut{}, err
	}
	n := min(max(in.Days, 1), maxDays)
	return forecastOut{st.City, st.forecast(n)}, s.pause(c, time.Duration(n)*perDay)
}

// radarPNG is a grey image of 16 by 16 pixels.
const radarPNG = "iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAAAAAA6mKC9AAAATUlEQVR42nWPwQ0AIAgDGcExGMsh" +
	"GdC2AY0S72N6AQEzMoQVY3PyBGUUHUhJIAaAomCBByvCVZKZXTIp5n5+4mp5Pm1j+2Jt9X7cff4CwNoq0fs7jEwAAAAASUVORK5CYII="

func (s *server) radar(_ call, in cityArgs) (*mcp.CallToolResult, error) {
	st, err := s.weather.find(in.City)
	if err != nil {
		return nil, err
	}
	picture, err := base64.StdEncoding.DecodeString(radarPNG)
	return &mcp.CallToolResult{Content: []mcp.Content{
		&mcp.TextContent{Text: "Rain around " + st.City + ", 50 km:"},
		&mcp.ImageContent{Data: picture, MIMEType: "image/png"},
		&mcp.ResourceLink{URI: uriStation(st.Key), Name: st.Key, Title: st.City, MIMEType: jsonType},
	}}, err
}

func (s *server) record(c call, in readingArgs) (*mcp.CallToolResult, error) {
	st, err := s.weather.find(in.City)
	if err != nil {
		return nil, err
	}
	st.Celsius, st.At = in.Celsius, updatedAt
	s.weather.set(st)
	err = s.sdk.ResourceUpdated(c, &mcp.ResourceUpdatedNotificationParams{URI: uriStation(st.Key)})
	return textResult("%s: %.1f °C", st.City, st.Celsius), err
}

// open changes the list of tools, then the list of resources.
func (s *server) open(c call, in stationArgs) (*mcp.CallToolResult, error) {
	st := station{Key: in.Key, City: in.City, Celsius: 21, Sky: "clear", At: readingAt}
	if !s.weather.set(st) {
		return nil, fmt.Errorf("there is a station in %s already", st.City)
	}
	add(s, &mcp.Tool{
		Name: "close_station", Title: "Close the new station",
		Description: "Takes " + st.City + " off the list again, and itself.",
	}, func(c call, _ noArgs) (*mcp.CallToolResult, error) { // undoes open
		s.weather.drop(st.Key)
		s.sdk.RemoveTools("close_station")
		err := s.pause(c, listsPause)
		s.sdk.RemoveResources(uriStation(st.Key))
		return textResult("The station in %s is closed.", st.City), errors.Join(err, s.pause(c, listsPause))
	})
	err := s.pause(c, listsPause)
	s.addStation(st)
	return textResult("The station in %s is open.", st.City), errors.Join(err, s.pause(c, listsPause))
}

func (s *server) survey(c call, _ noArgs) (surveyOut, error) {
	stations := s.weather.all()
	out := surveyOut{Stations: len(stations)}
	// Most clients set the level to info and do not receive the first message.
	err := errors.Join(c.note("debug", map[string]any{"event": "survey planned"}),
		c.note("info", map[string]any{"event": "survey started", "stations": len(stations)}))
	for i, st := range stations {
		err = errors.Join(err, s.pause(c, surveyStep))
		if st.Sky == "fog" {
			err = errors.Join(err, c.note("warning", map[string]any{"event": "sensor wet", "station": st.Key, "drift": "0.3 °C"}))
		}
		out.Mean += st.Celsius / float64(len(stations))
		err = errors.Join(err, c.progress(float64(i+1), float64(len(stations)), st.City+" read"))
		if err != nil {
			return out, err
		}
	}
	s.log.Printf("survey done")
	// Some SDKs lose progress that arrives together with the response.
	return out, s.pause(c, surveyStep)
}

func (s *server) calibrate(c call, in cityArgs) (*mcp.CallToolResult, error) {
	st, err := s.weather.find(in.City)
	if err != nil {
		return nil, err
	}
	s.log.Printf("warning: calibrating %s, readings are paused", st.City)
	return textResult("The thermometer in %s is off by 0.2 °C.", st.City), s.pause(c, calibration)
}

// sweep reports its start, so that a client knows when to cancel it.
func (s *server) sweep(c call, _ noArgs) (*mcp.CallToolResult, error) {
	if err := c.progress(1, 0, "turning"); err != nil {
		return nil, err
	}
	if err := s.pause(c, sweepLimit); err != nil {
		s.log.Printf("sweep cancelled by the client")
		return nil, errors.New("the sweep was cancelled")
	}
	return textResult("The sweep is over."), nil
}

// A draft is an unfinished briefing. In 2026-07-28 it is the requestState, so the server keeps no
// state.
type draft struct {
	Folder string `json:"folder"`
	City   string `json:"city"`
	Tone   string `json:"tone"`
}

// The keys of the requests in an input_required result.
const (
	folderKey = "folder"
	wishesKey = "wishes"
	textKey   = "text"
)

// briefing needs a folder (roots), the wishes of the user (elicitation) and a text (sampling). Before
// 2026-07-28 the server sends requests during the call. Since then each round ends with
// input_required, and the client repeats the call with the responses.
func (s *server) briefing(c call, _ noArgs) (*mcp.CallToolResult, error) {
	if c.req.ProtocolVersion() >= Stateless {
		return s.briefingInRounds(c)
	}
	roots, err := c.req.Session.ListRoots(c, &mcp.ListRootsParams{})
	if err != nil {
		return nil, err
	}
	wishes, err := c.req.Session.Elicit(c, wishesForm())
	if err != nil {
		return nil, err
	}
	d, prompt, err := s.prompt(c, roots, wishes)
	if err != nil {
		return nil, err
	}
	message, err := c.req.Session.CreateMessage(c, prompt)
	if err != nil {
		return nil, err
	}
	return s.deliver(c, d, message.Content)
}

// briefingInRounds continues with the responses in the request, or returns the next requests.
func (s *server) briefingInRounds(c call) (*mcp.CallToolResult, error) {
	// The SDK encodes absent content as null, which no revision allows.
	res := &mcp.CallToolResult{Content: []mcp.Content{}}
	given := c.req.Params.InputResponses
	if state := c.req.Params.RequestState; state != "" {
		var d draft
		b, err := base64.RawURLEncoding.DecodeString(state)
		if err == nil {
			err = json.Unmarshal(b, &d)
		}
		message, ok := given[textKey].(*mcp.CreateMessageWithToolsResult)
		if err != nil || !ok || len(message.Content) == 0 {
			return nil, errors.New("requestState is not ours, or the text is missing")
		}
		return s.deliver(c, d, message.Content[0])
	}
	roots, haveRoots := given[folderKey].(*mcp.ListRootsResult)
	wishes, haveWishes := given[wishesKey].(*mcp.ElicitResult)
	if !haveRoots || !haveWishes {
		res.InputRequests = mcp.InputRequestMap{folderKey: &mcp.ListRootsParams{}, wishesKey: wishesForm()}
		return res, nil
	}
	d, prompt, err := s.prompt(c, roots, wishes)
	if err != nil {
		return nil, err
	}
	// A real server would sign the state, because the client can change it.
	state, err := json.Marshal(d)
	res.RequestState = base64.RawURLEncoding.EncodeToString(state)
	res.InputRequests = mcp.InputRequestMap{textKey: prompt}
	return res, err
}

// wishesForm is the form for the user. The schema is text to keep the order of its members.
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

// prompt returns the request for the model.
func (s *server) prompt(c call, roots *mcp.ListRootsResult, wishes *mcp.ElicitResult) (
	d draft, p *mcp.CreateMessageParams, err error) {
	if len(roots.Roots) == 0 || wishes.Action != "accept" {
		return d, nil, errors.New("there is no folder to write to, or the user declined")
	}
	d.Folder = roots.Roots[0].URI
	d.City, _ = wishes.Content["city"].(string)
	d.Tone, _ = wishes.Content["tone"].(string)
	st, err := s.weather.find(d.City)
	if err != nil {
		return d, nil, err
	}
	return d, &mcp.CreateMessageParams{
		SystemPrompt: "You write weather briefings of one sentence.",
		MaxTokens:    60,
		Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{
			Text: fmt.Sprintf("A %s briefing for %s: %.1f °C, %s.", d.Tone, st.City, st.Celsius, st.Sky),
		}}},
	}, c.progress(1, 2, "writing")
}

// deliver ends a briefing in either revision.
func (s *server) deliver(c call, d draft, written mcp.Content) (*mcp.CallToolResult, error) {
	text, ok := written.(*mcp.TextContent)
	if !ok {
		return nil, errors.New("the model did not return text")
	}
	// For the same reason as in survey.
	err := errors.Join(c.progress(2, 2, "delivered"), s.pause(c, surveyStep))
	return textResult("%s/briefing.txt: %s", d.Folder, text.Text), err
}
