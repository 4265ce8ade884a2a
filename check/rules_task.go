package check

// rulesTask are about tasks of 2025-11-25.
var rulesTask = []Rule{}
