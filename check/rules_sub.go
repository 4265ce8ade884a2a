package check

// rulesSubscription are about subscriptions of 2026-07-28.
var rulesSubscription = []Rule{}
