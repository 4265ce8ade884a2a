package check

// rulesExtension are about the tasks extension.
var rulesExtension = []Rule{}
