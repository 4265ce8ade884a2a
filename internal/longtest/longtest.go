// Package longtest controls how much of a long test runs.
//
// Some tests repeat one check thousands of times, or run every pair of a client
// and a server. By default they run a sample, so that go test ./... stays quick.
// With MCPTAP_LONG=1 in the environment they run in full, as .ci/full does.
package longtest

import (
	"os"
	"testing"
)

// Variable is the environment variable that makes long tests run in full.
const Variable = "MCPTAP_LONG"

// Full reports whether long tests run in full.
func Full() bool { return os.Getenv(Variable) == "1" }

// Sampled reports whether t runs only a sample of its cases, and logs it. The line
// begins with SAMPLED, which the check of the project collects.
func Sampled(t testing.TB) bool {
	t.Helper()
	if Full() {
		return false
	}
	t.Log("SAMPLED: " + Variable + "=1 runs all cases")
	return true
}

// Need skips t unless long tests run in full. The line begins with LONG, which the
// check of the project collects.
func Need(t testing.TB) {
	t.Helper()
	if !Full() {
		t.Skip("LONG: runs with " + Variable + "=1")
	}
}
