// Package consumer is about consumer groups as brokers list them: which of them keep positions, whose positions are
// carried, and which have members. A run, the commands that show what it does, and the plan of what is written on the
// target all ask here, so that none of them says what another one does not do.
//
// What brokers say is compared in two ways. States and types are the broker's own words, and brokers of different
// versions spell them differently ("Share", "share"), so case does not count. Protocol types and group ids are the
// clients' words: brokers compare them byte by byte, and the patterns of groups and groups.exclude are case-sensitive as
// MirrorMaker 2's are, unless they say (?i).
package consumer

import (
	"strings"

	"tidemark/mm2"
)

// A Group is one group as its coordinator lists it.
type Group struct {
	ID       string
	Type     string // classic, consumer, share or streams; empty from brokers before 3.8
	Protocol string // protocol type: "consumer", "connect", ...; empty for groups that only store offsets
}

// Share says whether it is a share group (KIP-932), which has no positions.
func (g Group) Share() bool { return strings.EqualFold(g.Type, "share") || g.Protocol == "share" }

// Positions says whether the group keeps positions: groups of consumers do, simple ones that only store offsets, and
// Streams groups (KIP-1071). Connect's and other protocols use the group for something else.
func (g Group) Positions() bool {
	return !g.Share() && (g.Protocol == "" || g.Protocol == "consumer" || g.Protocol == "streams")
}

// Excluded says why a group's positions are not carried; empty where they are. names are the flow's lists of groups.
func Excluded(g Group, names *mm2.Filter) string {
	switch {
	case g.Share():
		return "share groups have no positions to carry"
	case !g.Positions():
		return "protocol type " + g.Protocol + " keeps no consumer positions"
	case mm2.IsOwnGroup(g.ID):
		return "a lane group of Tidemark's has no positions to carry"
	}
	if ok, rule := names.Match(g.ID); !ok {
		return rule
	}
	return ""
}

// Empty says whether a group in a state, as brokers list it, exists and has no members.
func Empty(state string) bool { return strings.EqualFold(state, "Empty") }

// Dead says whether a state is that of a group which is gone.
func Dead(state string) bool { return strings.EqualFold(state, "Dead") }

// Active says whether a group in a state has members, or had at the look. A group that is not listed has no state.
func Active(state string) bool { return state != "" && !Empty(state) && !Dead(state) }
