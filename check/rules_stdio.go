package check

// rulesStdio are about stdio.
var rulesStdio = []Rule{}
