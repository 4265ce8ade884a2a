// Package browsertest tests the viewer in a browser. It is a separate module, so that mcptap does not
// depend on the browser driver.
//
// The tests build mcptap, record or import sessions, run `mcptap web`, and use it in headless Chromium.
// Without Chromium they are skipped; with CI=true they fail. Screenshots of each view are written to
// the directory of -pictures, or to a temporary one whose name is printed.
package browsertest
