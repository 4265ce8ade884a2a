package check

// rulesFeature are about tools, resources, prompts and completion.
var rulesFeature = []Rule{}
