package demo

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// A station is the weather station of a city, as represented in a resource.
type station struct {
	Key     string  `json:"key"`
	City    string  `json:"city"`
	Celsius float64 `json:"celsius"`
	Sky     string  `json:"sky"`
	At      string  `json:"at"`
}

// The clock of the service is fixed.
const (
	readingAt = "2026-07-28T06:00:00Z"
	updatedAt = "2026-07-28T06:10:00Z"
)

// weather is the state of the service.
type weather struct {
	mu       sync.Mutex
	stations []station // sorted by key
}

func newWeather() *weather {
	return &weather{stations: []station{
		{"lima", "Lima", 17.5, "fog", readingAt},
		{"oslo", "Oslo", 14.5, "rain", readingAt},
		{"saopaulo", "São Paulo", 16, "clear", readingAt},
		{"tokyo", "東京", 29.5, "clear", readingAt},
	}}
}

func (w *weather) all() []station {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.stations)
}

func (w *weather) keys() []string {
	var keys []string
	for _, s := range w.all() {
		keys = append(keys, s.Key)
	}
	return keys
}

// find returns a station. The text of its error is for the model.
func (w *weather) find(key string) (station, error) {
	for _, s := range w.all() {
		if s.Key == key {
			return s, nil
		}
	}
	return station{}, fmt.Errorf("no station in %q; there is one in %s", key, strings.Join(w.keys(), ", "))
}

// set replaces or adds a station and reports whether it is new.
func (w *weather) set(s station) (added bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i, found := slices.BinarySearchFunc(w.stations, s.Key, func(s station, key string) int {
		return strings.Compare(s.Key, key)
	})
	if found {
		w.stations[i] = s
		return false
	}
	w.stations = slices.Insert(w.stations, i, s)
	return true
}

func (w *weather) drop(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stations = slices.DeleteFunc(w.stations, func(s station) bool { return s.Key == key })
}

// A day is one day of a forecast.
type day struct {
	Date string  `json:"date"`
	Low  float64 `json:"low" jsonschema:"lowest temperature in degrees Celsius"`
	High float64 `json:"high" jsonschema:"highest temperature in degrees Celsius"`
	Sky  string  `json:"sky"`
}

// maxDays keeps a forecast within one month.
const maxDays = 3

// forecast derives n days from the latest reading.
func (s station) forecast(n int) []day {
	skies := [maxDays]string{s.Sky, "clear", "cloudy"}
	days := make([]day, n)
	for i := range days {
		days[i] = day{fmt.Sprintf("2026-07-%02d", 28+i), s.Celsius - 3 + float64(i)/2, s.Celsius + 4 - float64(i)/2, skies[i]}
	}
	return days
}

// text returns v as JSON for a resource.
func text(v any) string {
	b, _ := json.MarshalIndent(v, "", "  ") // v has only texts and numbers
	return string(b)
}
