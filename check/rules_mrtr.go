package check

// rulesMRTR are about input_required results and retries.
var rulesMRTR = []Rule{}
