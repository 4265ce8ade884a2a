package check

// rulesInit are about the handshake of the legacy era.
var rulesInit = []Rule{}
