package main

import (
	"testing"

	"github.com/mcptap/mcptap/internal/listing"
	"github.com/mcptap/mcptap/store"
)

func TestStateOfUnreadable(t *testing.T) {
	for status, want := range map[store.Status]string{store.Damaged: "damaged", store.Denied: "no permission"} {
		info := store.Info{Status: status}
		if got := listing.State(&info); got != want {
			t.Errorf("%v: %q, want %q", status, got, want)
		}
	}
}
