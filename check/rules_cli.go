package check

// rulesClient are about roots, sampling and elicitation.
var rulesClient = []Rule{}
