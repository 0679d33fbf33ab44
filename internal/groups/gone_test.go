package groups

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/partition"
	"tidemark/internal/translate"
)

// gone is a group that was carried to 11 and 33 on the target, and that the source no longer holds.
func gone(t *testing.T) *fix {
	t.Helper()
	f := newFix(t)
	bills := partition.ID{Topic: "bills"}
	f.commit("g", orders(0), 10)
	f.commit("g", bills, 30)
	f.poll()
	f.judge("g", orders(0), 10, exact(11))
	f.judge("g", bills, 30, exact(33))
	f.round()
	f.want("g", orders(0), 11)
	delete(f.positions, "g")
	f.env.since()
	for range forget {
		f.poll()
	}
	f.clock.pass(retry)
	f.round()
	return f
}

// lose deletes the group's commits on the target, as brokers do when they expire.
func (f *fix) lose(group string) {
	f.Helper()
	res, err := f.target.Admin().DeleteGroups(f.ctx(), group)
	if err != nil || res.Error() != nil {
		f.Fatal(err, res.Error())
	}
}

// TestGoneOnTheSource: the last row stays and says since when, and what is on the target is renewed, by the next process too.
func TestGoneOnTheSource(t *testing.T) {
	f := gone(t)
	rows, _ := f.env.since()
	if len(rows) != 2 {
		t.Fatalf("published: %v", rows)
	}
	for _, p := range rows {
		if p.row == nil || !p.row.GoneAt.Equal(f.clock.now()) || !p.row.Verdict.IsExact() || p.row.RemoteTopic != "A."+p.key.Topic {
			t.Errorf("published about %v: %+v", p.key, p.row)
		}
	}
	commits := counts(f.dst, kmsg.OffsetCommit)
	for range 3 {
		f.poll()
		f.clock.pass(recheck)
		f.round()
	}
	if n := commits.Hits(); n != 0 {
		t.Errorf("%d commits although nothing is due", n)
	}
	f.clock.pass(f.owner.renewEvery)
	f.round()
	if n := commits.Hits(); n != 1 {
		t.Errorf("renewed with %d requests, want 1 for the whole group", n)
	}
	f.lose("g")
	f.clock.pass(recheck)
	f.round()
	f.want("g", orders(0), 11)
	f.want("g", partition.ID{Topic: "bills"}, 33)

	kept := f.owner.rows
	f.owner = f.newOwner(true)
	for key, row := range kept {
		f.owner.Apply(key, &row)
	}
	f.lose("g")
	f.poll()
	f.round()
	f.want("g", orders(0), 11)
	f.state("g", translate.Written)
	if rows, _ := f.env.since(); len(rows) != 0 {
		t.Errorf("said again: %v", rows)
	}
}

// TestGoneAndMoved: what the application itself has committed on the target is its own, whether it is ahead of the last
// position or was rewound below it.
func TestGoneAndMoved(t *testing.T) {
	for _, at := range []int64{40, 5} {
		f := gone(t)
		f.others("g", orders(0), at, 3)
		commits := counts(f.dst, kmsg.OffsetCommit)
		f.clock.pass(f.owner.renewEvery)
		f.round()
		f.want("g", orders(0), at)
		if n := commits.Hits(); n != 1 { // of the other topic
			t.Errorf("at %d: %d commits, want 1", at, n)
		}
	}
}

// TestGoneAndBack: a group that commits again is an ordinary one.
func TestGoneAndBack(t *testing.T) {
	f := gone(t)
	f.env.since()
	f.commit("g", orders(0), 10)
	f.poll()
	f.clock.pass(republish)
	f.round()
	if rows, _ := f.env.since(); len(rows) != 1 || rows[0].row == nil || !rows[0].row.GoneAt.IsZero() || rows[0].key.Topic != "orders" {
		t.Errorf("the same commit is back, and published is %v", rows)
	}
	f.commit("g", partition.ID{Topic: "bills"}, 40)
	f.poll()
	f.judge("g", partition.ID{Topic: "bills"}, 40, exact(44))
	f.round()
	f.want("g", partition.ID{Topic: "bills"}, 44)
}

// TestGoneWithItsTopic: nobody can tell whether the topic on the target is still the one that was mirrored, so what stands there
// is renewed and nothing is written where there is none.
func TestGoneWithItsTopic(t *testing.T) {
	f := newFix(t)
	f.commit("g", orders(0), 10)
	f.poll()
	f.judge("g", orders(0), 10, exact(11))
	f.round()
	f.env.mu.Lock()
	delete(f.env.fates, "orders")
	f.env.mu.Unlock()
	delete(f.positions, "g")
	for range forget {
		f.poll()
	}
	f.clock.pass(f.owner.renewEvery)
	commits := counts(f.dst, kmsg.OffsetCommit)
	f.round()
	if n := commits.Hits(); n != 1 {
		t.Errorf("renewed with %d requests, want 1", n)
	}
	f.lose("g")
	f.clock.pass(f.owner.renewEvery)
	f.round()
	f.want("g", orders(0), -1)
}

// TestLeftOutIsNotKept: what the file leaves out, and what has no place, ends with the commit on the source.
func TestLeftOutIsNotKept(t *testing.T) {
	for name, change := range map[string]func(f *fix){
		"the topic":         func(f *fix) { f.env.fate("orders", Fate{Why: "excluded"}) },
		"the group":         func(f *fix) { f.info["g"] = Info{Excluded: "excluded"} },
		"the remote topic":  func(f *fix) { f.env.fate("orders", Fate{Mirrored: true, Remote: "A.orders", TargetID: [16]byte{9}}) },
		"there is no place": func(f *fix) { f.judge("g", orders(0), 10, none(translate.PartitionStopped, "why")) },
	} {
		f := newFix(t)
		f.commit("g", orders(0), 10)
		f.poll()
		f.judge("g", orders(0), 10, exact(11))
		f.round()
		f.env.since()
		delete(f.positions, "g")
		change(f)
		for range forget {
			f.poll()
		}
		f.clock.pass(time.Second)
		f.round()
		rows, _ := f.env.since()
		deleted := false
		for _, p := range rows {
			deleted = deleted || p.key == keyOf("g", 0) && p.row == nil
		}
		if !deleted {
			t.Errorf("%s: the row is kept: %v", name, rows)
		}
	}
}

// TestRetention: offsets are renewed several times before they expire, and never all the time.
func TestRetention(t *testing.T) {
	o := &Owner{}
	for d, want := range map[time.Duration]time.Duration{0: 12 * time.Hour, time.Minute: 7500 * time.Millisecond, 24 * time.Hour: 3 * time.Hour, 1000 * time.Hour: 12 * time.Hour} {
		if o.Retention(d); o.renewEvery != want {
			t.Errorf("kept for %v: renewed every %v, want %v", d, o.renewEvery, want)
		}
	}
}
