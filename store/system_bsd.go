//go:build unix && !linux && !darwin

package store

// bootID is empty if the boot cannot be identified. Then there is no mapping.
func bootID() string { return "" }

func (q *queueFile) allocate(int64, int64) error { return nil }

func adviseRandom([]byte) {}

// GiveWay lowers the priority of this process, on Linux.
func GiveWay() {}
