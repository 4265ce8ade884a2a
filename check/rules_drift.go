package check

// rulesDrift are about definitions that change.
var rulesDrift = []Rule{}
