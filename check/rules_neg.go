package check

// rulesNegotiation are about the negotiation of 2026-07-28.
var rulesNegotiation = []Rule{}
