//go:build !linux

package store

func lowerPriority() {}

// GiveWay makes this process give way to others, on Linux.
func GiveWay() {}
