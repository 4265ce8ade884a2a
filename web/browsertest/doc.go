// Package browsertest opens the viewer in a real browser. It is a module of its
// own, so that mcptap does not depend on what drives the browser.
//
// The tests build mcptap, record or import sessions, run `mcptap web`, and do
// what a person would, in headless Chromium. Without one they say loudly that
// they were skipped, and with CI=true they fail. Pictures of each view go to the
// folder that -pictures names, or to a temporary one whose name is printed.
package browsertest
