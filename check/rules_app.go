package check

// rulesApp are about MCP Apps.
var rulesApp = []Rule{}
