package check

// rulesType are about the JSON types of definitions and contents.
var rulesType = []Rule{}
