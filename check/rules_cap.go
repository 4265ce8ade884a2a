package check

// rulesCapability are about the use of declared capabilities.
var rulesCapability = []Rule{}
