// Package engine applies components to a cluster. It knows nothing of
// Terraform.
//
// The way of every operation is the same: render what is wanted, observe what
// is there, decide about each object, and do what was decided. Reads,
// decisions and writes do not share a function:
//
//	component.go, want.go   what is asked for, and the objects it renders to
//	policy.go, decide.go    every policy, and the one place where they meet what exists
//	plan.go, mask.go        the planned values: a pure function of inputs and prior state
//	observe.go, check.go    the reads, and the server's dry-run of what changes
//	wave.go                 every order
//	apply.go, write.go      the writes of an apply, wave by wave
//	wait.go, diagnose.go    readiness, and what is said when it does not come
//	remove.go, delete.go    prune and delete: the same code
//	safeguard.go            what is not deleted because others still use it
//	refresh.go, fields.go   the live truth, reduced to the fields that we apply
//
// It makes four promises:
//
//   - Plan changes nothing.
//   - Apply does what the plan says, or fails.
//   - The inventory that Apply returns is true also when it returns an error.
//   - A second Apply of the same input writes nothing.
//
// # The record
//
// One Secret a component keeps the inventory, the state of every object, what
// the plan showed of it, and the key of all hashes. It is written before the
// first object, at the end of each wave, and at the end, each time under the
// condition that nobody else wrote it meanwhile. What is not in the record was
// not applied by this component.
//
// # Owners
//
// Every object carries the owner label of its component. An object of another
// owner is never touched without adoption-policy always; an object that lost
// our label is no longer ours.
package engine
