package check

// rulesPerformance are about performance.
var rulesPerformance = []Rule{}
