package check

// rulesAuth are about authorization.
var rulesAuth = []Rule{}
