//go:build unix && !linux && !darwin

package store

// bootID is empty where the boot cannot be named: then there is no mapping.
func bootID() string { return "" }

func (q *queueFile) allocate(int64, int64) error { return nil }

func adviseRandom([]byte) {}

func populate([]byte) {}

// GiveWay makes this process give way to others, on Linux.
func GiveWay() {}
