// Package terms is what all workers of a flow must have alike in their files, and how they tell each other.
//
// Lanes go from worker to worker: where two of them have other lists of topics, a topic is mirrored or not as chance has it,
// with every lane owned and every worker content. So each member of the lane group brings its Terms along when it joins: they
// stand behind the user data of its subscription, which the group protocol hands on and does not read.
//
//	user data of the balancer | magic | Terms in JSON
//
// Builds that know nothing of it read their part and stop there, so that workers of two versions share lanes during an upgrade.
//
// The package is pure: internal/engine brings terms along and compares them, internal/inspect shows them.
package terms
