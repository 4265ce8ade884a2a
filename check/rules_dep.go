package check

// rulesDeprecated are about deprecated features.
var rulesDeprecated = []Rule{}
