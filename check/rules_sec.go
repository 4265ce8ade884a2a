package check

// rulesSecurity are about security.
var rulesSecurity = []Rule{}
