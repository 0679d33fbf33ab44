//go:build unix

package peer

import (
	"path"
	"slices"
)

// class is one of Kafka's classes of integration tests.
type class struct {
	name, short string
	about       string // what is special about it
	changed     []change
}

// change is one of the few things that are not as the test has them.
type change struct {
	property, value string // a system property of the harness
	what, why       string
}

// everywhere is what is changed for all classes.
func everywhere() change {
	return change{
		"peer.set.tidemark.positions.interval.ms", "100", "`tidemark.positions.interval.ms` is 100",
		"`testOffsetTranslationBehindReplicationFlow` takes the first checkpoint that it has not seen for that of its last commit, so each must be there soon after its commit",
	}
}

// classes are all integration tests of MirrorMaker 2. Six of them run the first one's tests on other settings.
func classes() []class {
	return []class{
		{name: "MirrorConnectorsIntegrationBaseTest", short: "Base", about: "two clusters, both ways"},
		{name: "IdentityReplicationIntegrationTest", short: "Identity", about: "with `IdentityReplicationPolicy`"},
		{name: "MirrorConnectorsIntegrationExactlyOnceTest", short: "ExactlyOnce", about: "with Connect's exactly-once support on"},
		{name: "MirrorConnectorsIntegrationTransactionsTest", short: "Transactions", about: "with records of transactions"},
		{
			name: "MirrorConnectorsIntegrationSSLTest", short: "SSL", about: "with TLS on the second cluster",
			changed: []change{{
				"peer.set.ssl.endpoint.identification.algorithm", "", "`ssl.endpoint.identification.algorithm` is empty",
				"the certificate names its host in its CN only, which Java takes and Tidemark does not",
			}},
		},
		{
			name: "MirrorConnectorsWithCustomForwardingAdminIntegrationTest", short: "Forwarding", about: "with a Java admin client of its own",
			changed: []change{{"peer.set.forwarding.admin.class", "-", "`forwarding.admin.class` is taken out", "it is a Java class, and refused"}},
		},
		{name: "DedicatedMirrorIntegrationTest", short: "Dedicated", about: "dedicated mode, up to three workers"},
	}
}

// outcome is what a test is expected to come to.
type outcome string

const (
	passes  outcome = "SUCCESSFUL"
	differs outcome = "FAILED"  // something is deliberately not as MirrorMaker 2 has it
	beyond  outcome = "ABORTED" // it asks for something inside MirrorMaker 2 or Connect, and the rest passes
)

// expectation is a row of the table of differences. A test without a row passes.
type expectation struct {
	classes []string // by their short names; nil: all
	tests   string   // a name, or a pattern as path.Match has them
	want    outcome
	or      outcome // what it may come to as well, by a race in the test itself that a comment on the row explains; empty: nothing
	says    string  // what the exception must hold, so that the test fails for this reason and no other
	why     string
}

func (e expectation) matches(short, test string) bool {
	if e.classes != nil && !slices.Contains(e.classes, short) {
		return false
	}
	ok, err := path.Match(e.tests, test)
	return ok && err == nil
}

// expectations are all differences; the first row that matches counts.
func expectations() []expectation {
	return []expectation{
		{
			tests: "testConnectorMetrics*", want: differs, says: "Unable to find the MirrorMaker metrics",
			why: "looks for metrics of MirrorMaker 2's classes in its own JVM; `tidemark status --json` says how a flow stands",
		},
		{
			classes: []string{"Identity"}, tests: "testReplication", want: differs, says: "Could not find enough records. found 0, expected 1",
			why: "waits for heartbeats of a direction that is not enabled; they say that a flow runs, so they are written for enabled ones only",
		},
		{
			classes: []string{"ExactlyOnce"}, tests: "testReplication", want: beyond, says: "Connect's REST to alter",
			why: "its last part alters offsets through Connect's REST; `tidemark restart --from` does it here. All before that passes",
		},
		{
			// It looks at the setting right after it has set it: a broker that has not applied that yet shows the old one, which is
			// what the test waits for.
			tests: "testReplicateSourceDefault", want: differs, or: passes, says: "because the source cluster default is being used",
			why: "sets `use.defaults.from=source`, so the default of the source's broker should replace what was set on the remote topic; only settings that the source topic has of its own are copied",
		},
		{
			classes: []string{"Forwarding"}, tests: "test*ForwardingAdmin", want: beyond, says: "a store that a Java admin client fills",
			why: "looks into a store that the Java admin client fills; the rest passes",
		},
		{
			classes: []string{"Dedicated"}, tests: "testMultiNodeCluster", want: beyond, says: "configurations of tasks in a topic of Connect's",
			why: "at its end it looks into Connect's topic of task configurations; the rest, a rolling restart of three workers, passes",
		},
	}
}

// expected is what a test of a class is to come to.
func expected(short, test string) expectation {
	all := expectations()
	if i := row(all, short, test); i >= 0 {
		return all[i]
	}
	return expectation{want: passes}
}

// row is the index of the expectation about a test, -1 where there is none.
func row(all []expectation, short, test string) int {
	return slices.IndexFunc(all, func(e expectation) bool { return e.matches(short, test) })
}
