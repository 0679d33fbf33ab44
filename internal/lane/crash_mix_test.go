package lane

// crashMix is a kind of random history. Chances are "one in n"; 0 is never.
type crashMix struct {
	name            string
	pairs           int
	keys, values    int // few of them make equal records common
	old             int // one batch in so many is old data; 1 all
	blanks          int // control batches and aborted ones
	tombstones      int
	sourceCompacts  bool
	targetCompacts  bool
	aged            bool // tombstones go for their age
	trims, expires  int
	faults          int // of a request
	foreign         int
	deaths, zombies int
	releases        int
	identityExpires int
	static          bool
	split           bool
	facts           int // something that the flow, the source or the ledger says of a partition
	leaderless      int // a partition that cannot be fenced when the lane is taken over
	damages         int // a source batch that cannot be mirrored, for now
	decisions       int // of people
}

func crashMixes() []crashMix {
	base := crashMix{pairs: 1, keys: 3, values: 2, deaths: 60, releases: 40, faults: 8, facts: 10, damages: 25, leaderless: 40}
	mix := func(name string, set func(*crashMix)) crashMix {
		m := base
		m.name = name
		set(&m)
		return m
	}
	return []crashMix{
		mix("fresh data, transactions", func(m *crashMix) { m.keys, m.blanks, m.pairs, m.zombies = 0, 4, 2, 40 }),
		mix("old data, state forgotten", func(m *crashMix) { m.keys, m.old, m.pairs, m.split = 0, 1, 2, true }),
		mix("fresh and old data, two owners", func(m *crashMix) { m.keys, m.old, m.zombies, m.static = 0, 3, 20, true }),
		mix("source compacts, contents repeat", func(m *crashMix) { m.keys, m.values, m.sourceCompacts, m.blanks, m.zombies = 2, 1, true, 5, 60 }),
		mix("source trims", func(m *crashMix) { m.keys, m.values, m.trims = 0, 2, 30 }),
		mix("target compacts", func(m *crashMix) { m.keys, m.targetCompacts, m.tombstones, m.aged = 3, true, 5, true }),
		mix("target expires", func(m *crashMix) { m.keys, m.old, m.expires = 0, 2, 25 }),
		mix("identity expires", func(m *crashMix) {
			m.keys, m.identityExpires, m.deaths, m.releases, m.zombies, m.static = 0, 200, 80, 8, 20, true
		}),
		mix("stopped and released, few leaders", func(m *crashMix) {
			m.keys, m.old, m.pairs, m.static, m.faults, m.facts, m.releases, m.deaths, m.leaderless = 0, 4, 2, true, 3, 2, 4, 50, 4
		}),
		mix("paused, skipped, copied anew", func(m *crashMix) { m.keys, m.pairs, m.zombies, m.old, m.decisions = 0, 2, 40, 4, 8 }),
		mix("everything", func(m *crashMix) {
			m.pairs, m.old, m.blanks, m.tombstones, m.sourceCompacts, m.targetCompacts, m.aged = 2, 3, 5, 6, true, true, true
			m.decisions = 60
			m.trims, m.expires, m.foreign, m.zombies, m.identityExpires, m.split = 60, 60, 40, 60, 150, true
		}),
	}
}
