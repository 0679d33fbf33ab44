package offsetmap_test

import (
	"fmt"

	"tidemark/offsetmap"
)

// A map grows while records are copied, and answers where a reader of one log goes on in the other. Offsets are always
// those of the next record to read, as consumers commit them.
func Example() {
	m := offsetmap.New(offsetmap.Origin{})
	// Records 0 to 99 stand at the same offsets on the target. Source offset 100 is the end marker of a transaction, which
	// is not copied, so that from there on the target is one behind.
	for _, r := range []offsetmap.Run{{Source: 0, Target: 0, Count: 100}, {Source: 101, Target: 100, Count: 50}} {
		if err := m.Append(r); err != nil {
			fmt.Println(err)
			return
		}
	}
	there := m.Next(120)
	back, kind := m.Source(there.Target)
	fmt.Printf("source 120 is target %d (%s)\n", there.Target, there.Kind)
	fmt.Printf("target %d is source %d (%s)\n", there.Target, back, kind)
	// Output:
	// source 120 is target 119 (exact)
	// target 119 is source 120 (exact)
}

// A position in a hole, at the end, or beyond what is mirrored has a place too; the kind says how far to trust it.
func ExampleMap_Next() {
	m := offsetmap.New(offsetmap.Origin{})
	for _, r := range []offsetmap.Run{{Source: 0, Target: 0, Count: 100}, {Source: 110, Target: 100, Count: 50}} {
		if err := m.Append(r); err != nil {
			fmt.Println(err)
			return
		}
	}
	for _, c := range []offsetmap.SourceOffset{
		50,  // inside of a run
		105, // in the hole: a compacted topic has lost 100 to 109
		160, // everything is read
		163, // three records more than are mirrored yet
	} {
		p := m.Next(c)
		fmt.Printf("%d: target %d, %s", c, p.Target, p.Kind)
		if p.N > 0 {
			fmt.Printf(" by %d", p.N)
		}
		fmt.Println()
	}
	// Output:
	// 50: target 50, exact
	// 105: target 100, exact
	// 160: target 150, at end
	// 163: target 150, beyond mirrored by 3
}

// The way back, for a group that has read on the target.
func ExampleMap_Source() {
	m := offsetmap.New(offsetmap.Origin{})
	for _, r := range []offsetmap.Run{{Source: 0, Target: 0, Count: 100}, {Source: 110, Target: 100, Count: 50}} {
		if err := m.Append(r); err != nil {
			fmt.Println(err)
			return
		}
	}
	for _, t := range []offsetmap.TargetOffset{50, 101, 150} {
		s, kind := m.Source(t)
		fmt.Printf("%d: source %d, %s\n", t, s, kind)
	}
	// Output:
	// 50: source 50, exact
	// 101: source 111, exact
	// 150: source 160, at end
}

// A map is stored as blocks, which are written once, and a tail that is written again and again. Whoever has both has the
// map. A block that is lost makes answers earlier, never later.
func ExampleLoad() {
	m := offsetmap.New(offsetmap.Origin{SourceCluster: "A"})
	for i := range int64(1000) { // one record a transaction, and one end marker
		if err := m.Append(offsetmap.Run{Source: offsetmap.SourceOffset(2 * i), Target: offsetmap.TargetOffset(i), Count: 1}); err != nil {
			fmt.Println(err)
			return
		}
	}
	block, _ := m.Seal()
	tail := m.AppendTail(nil)

	whole, err := offsetmap.Load(tail, []offsetmap.Block{block})
	if err != nil {
		fmt.Println(err)
		return
	}
	p := whole.Next(600)
	fmt.Printf("a block of %d bytes; source 600 is target %d (%s)\n", len(block.Data), p.Target, p.Kind)

	without, err := offsetmap.Load(tail, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	p = without.Next(600)
	fmt.Printf("without block %v: target %d (%s, %d records are read again at most)\n", without.Missing(), p.Target, p.Kind, p.N)
	// Output:
	// a block of 1009 bytes; source 600 is target 300 (exact)
	// without block [0]: target 0 (bounded, 600 records are read again at most)
}
