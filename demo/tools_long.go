package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// This file holds the tools that take their time: with progress, without, and
// until somebody cancels them.

const (
	// surveyStep is the time for one station.
	surveyStep = 50 * time.Millisecond
	// calibration is the slow call: silent, and overtaken by the forecasts.
	calibration = 600 * time.Millisecond
	// sweepLimit ends a sweep that nobody cancels.
	sweepLimit = 20 * time.Second
)

type noArgs struct{}

type surveyOut struct {
	Stations int     `json:"stations"`
	Mean     float64 `json:"mean" jsonschema:"mean temperature in degrees Celsius"`
}

func (s *server) addLongTools() {
	mcp.AddTool(s.sdk, &mcp.Tool{
		Name: toolSurvey, Title: "Survey", Annotations: readOnly(),
		Description: "Reads all stations one after the other and reports its progress.",
	}, s.survey)
	mcp.AddTool(s.sdk, &mcp.Tool{
		Name: toolCalibrate, Title: "Calibrate",
		Description: "Calibrates the thermometer of a station, which takes a moment.",
	}, s.calibrate)
	mcp.AddTool(s.sdk, &mcp.Tool{
		Name: toolSweep, Title: "Sweep", Annotations: readOnly(),
		Description: "Turns the radar until the call is cancelled.",
	}, s.sweep)
}

func (s *server) survey(ctx context.Context, req *mcp.CallToolRequest, _ noArgs) (*mcp.CallToolResult, surveyOut, error) {
	stations := s.weather.all()
	out := surveyOut{Stations: len(stations)}
	// Most clients ask for info and never see this one.
	if err := s.note(ctx, req, "debug", map[string]any{"event": "survey planned"}); err != nil {
		return nil, out, err
	}
	if err := s.note(ctx, req, "info", map[string]any{"event": "survey started", "stations": len(stations)}); err != nil {
		return nil, out, err
	}
	for i, st := range stations {
		if err := s.pause(ctx, surveyStep); err != nil {
			return nil, out, err
		}
		if st.Sky == "fog" {
			drift := map[string]any{"event": "sensor wet", "station": st.Key, "drift": "0.3 °C"}
			if err := s.note(ctx, req, "warning", drift); err != nil {
				return nil, out, err
			}
		}
		out.Mean += st.Celsius / float64(len(stations))
		if err := progress(ctx, req, float64(i+1), float64(len(stations)), st.City+" read"); err != nil {
			return nil, out, err
		}
	}
	s.say("survey done")
	// A progress notification that is read together with the answer gets lost
	// in some SDKs, so leave them apart.
	if err := s.pause(ctx, surveyStep); err != nil {
		return nil, out, err
	}
	return nil, out, nil
}

// note sends a log message to the client, where its level allows.
func (s *server) note(ctx context.Context, req *mcp.CallToolRequest, level mcp.LoggingLevel, data any) error {
	return req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: level, Logger: "stations", Data: data})
}

func (s *server) calibrate(ctx context.Context, _ *mcp.CallToolRequest, in cityArgs) (*mcp.CallToolResult, any, error) {
	st, err := s.weather.find(in.City)
	if err != nil {
		return nil, nil, err
	}
	s.say("warning: calibrating %s, readings are paused", st.City)
	if err := s.work(ctx, calibration); err != nil {
		return nil, nil, err
	}
	return textResult("The thermometer in %s is off by 0.2 °C.", st.City), nil, nil
}

// sweep tells that it has begun, so that a client knows when there is
// something to cancel.
func (s *server) sweep(ctx context.Context, req *mcp.CallToolRequest, _ noArgs) (*mcp.CallToolResult, any, error) {
	if err := progress(ctx, req, 1, 0, "turning"); err != nil {
		return nil, nil, err
	}
	if err := s.pause(ctx, sweepLimit); err != nil {
		s.say("sweep cancelled by the client")
		return nil, nil, fmt.Errorf("the sweep was cancelled")
	}
	return textResult("The sweep is over."), nil, nil
}
