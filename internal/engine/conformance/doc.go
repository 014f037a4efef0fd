// Package conformance holds the semantics of components as stories: what is
// applied, what others do in the cluster meanwhile, and what the cluster looks
// like in the end. It has tests only.
//
// The stories in the folder stories are our own, one row of the contract after
// the other, for readers who know component-operator and no Go. They are played
// on a real API server.
//
// A story runs in a namespace of its own. In its texts NAMESPACE stands for the
// name of that namespace and GROUP for an API group that only this story has.
// An object is named "Kind/name" in that namespace or without one, and
// "Kind/namespace/name" in another.
//
// A story has a name, manifests that somebody else created before, and steps:
//
//	do:             what happens, in words
//	others:         what somebody else does first
//	components:     what is applied, by component; attributes of earlier steps stay
//	delete:         components that are deleted
//	ready_timeout:  for this step, where it has to run out
//	meanwhile:      what somebody else does when something is seen
//	expect:         how each component comes out, the objects, and the order
//
// All components of a step are handled at the same time, as Terraform does. A
// component that the expectation does not mention must become Ready, or be gone
// if it was deleted. After every apply that succeeds a second plan must have
// nothing to do, and a second apply must write nothing.
package conformance
