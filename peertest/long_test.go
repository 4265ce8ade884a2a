package peertest

import (
	"os"
	"testing"
)

// By default each kind of peer is tested once, as a smoke test. With MCPTAP_LONG=1 every pair and every
// suite runs. The parent module's internal/longtest does the same; importing it would tie the versions
// of the peers to those of mcptap.

// sampled reports whether t runs only a sample of its pairs, and logs it.
func sampled(t *testing.T) bool {
	t.Helper()
	if os.Getenv("MCPTAP_LONG") == "1" {
		return false
	}
	t.Log("SAMPLED: MCPTAP_LONG=1 runs all pairs")
	return true
}

// needLong skips t unless every test runs.
func needLong(t *testing.T) {
	t.Helper()
	if os.Getenv("MCPTAP_LONG") != "1" {
		t.Skip("LONG: runs with MCPTAP_LONG=1")
	}
}
