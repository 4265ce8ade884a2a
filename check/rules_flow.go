package check

// rulesFlow are about progress, cancellation and logs.
var rulesFlow = []Rule{}
