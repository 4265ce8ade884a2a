//go:build !linux

package store

func lowerPriority() {}

func populate([]byte) {}
