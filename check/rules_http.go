package check

// rulesHTTP are about Streamable HTTP, HTTP+SSE and their headers.
var rulesHTTP = []Rule{}
