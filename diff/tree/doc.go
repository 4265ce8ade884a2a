// Package tree compares JSON values as trees: every subtree has a hash, so that
// what is the same is passed over at once and what moved is found again. It is
// pure.
//
// [Parse] reads a text into a [Doc] of [Value]s. Two values have the same hash
// when they are the same by value: the order of members, white space, escapes
// and the spelling of numbers do not count, absent, null and empty differ.
// Numbers are compared by their exact decimal value and never pass through a
// float. [Compare] walks two values and tells each place where they differ.
// Strings that hold JSON are compared as JSON. [Hunks] tells where two texts
// differ, by lines and words.
//
// All of it costs time near to linear in the size of its input, whatever that
// is, as recorded traffic is hostile. Hashes are keyed anew in each process, so
// no input can be made to collide.
package tree
