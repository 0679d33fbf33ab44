package ledger

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tidemark/internal/partition"
	"tidemark/offsetmap"
)

// Damage is a record that could not be used, kept so that it is shown and never passed over in silence.
type Damage struct {
	Key    string // at most 80 characters of it, since a foreign one can have megabytes
	Offset int64  // in the ledger partition
	Err    error
}

// Contents is what a ledger partition says once it was read to its end.
type Contents struct {
	Meta    *Meta
	Claim   *Claim
	reads   *Reads
	claimed bool // by the claim that is there, after reads was written
	Heads   map[partition.ID]Head
	Begins  map[partition.ID]Begin
	Configs map[string]Configs        // by source topic
	Damaged map[partition.ID][]Damage // heads, blocks and begins that cannot be used
	Other   []Damage                  // unusable records that belong to no partition

	Obeys Obeys // what is in force in the lane; zero: nothing is known to be

	Start       *Start                // with StartTopics the flow's first start, where it began at the end: see Started
	StartTopics map[string]StartTopic // by source topic

	blocks map[partition.ID]map[blockID][]byte
}

type blockID struct{ incarnation, number uint32 }

// NewContents gives an empty view; feed it with Apply in log order.
func NewContents() *Contents {
	return &Contents{
		Heads:   map[partition.ID]Head{},
		Begins:  map[partition.ID]Begin{},
		Configs: map[string]Configs{},
		Damaged: map[partition.ID][]Damage{},
		blocks:  map[partition.ID]map[blockID][]byte{},

		StartTopics: map[string]StartTopic{},
	}
}

// Apply takes one record in log order. Damage is remembered, not returned; the one error is LG2's unknown version,
// after which the partition must not be owned by this build.
func (c *Contents) Apply(offset int64, key, value []byte) error {
	k, err := ParseKey(key)
	if err != nil {
		c.Other = append(c.Other, Damage{Key: fmt.Sprintf("%.80s", key), Offset: offset, Err: err})
		return nil //nolint:nilerr // damage is remembered, not returned
	}
	p := partition.ID{Topic: k.Topic, Partition: k.Partition}
	c.Other = slices.DeleteFunc(c.Other, func(d Damage) bool { return d.Key == k.String() }) // replaced
	if value == nil {
		c.delete(k, p)
		return nil
	}
	switch k.Kind {
	case KindMeta:
		var m Meta
		if m, err = DecodeMeta(value); err == nil {
			c.Meta = &m
		}
	case KindClaim:
		var cl Claim
		if cl, err = DecodeClaim(value); err == nil {
			c.Claim, c.claimed = &cl, true
		}
	case KindHead:
		var h Head
		if h, err = DecodeHead(k, value); err == nil {
			c.Heads[p] = h
			c.healed(p, k)
		}
	case KindBegin:
		var b Begin
		if b, err = DecodeBegin(value); err == nil {
			c.Begins[p] = b
			c.healed(p, k)
		}
	case KindConfigs:
		var cs Configs
		if cs, err = DecodeConfigs(value); err == nil {
			c.Configs[k.Topic] = cs
		}
	case KindStart:
		var s Start
		if s, err = DecodeStart(value); err == nil {
			c.Start = &s
		}
	case KindStartTopic:
		var t StartTopic
		if t, err = DecodeStartTopic(value); err == nil {
			c.StartTopics[k.Topic] = t
		}
	case KindIsolation:
		var r Reads
		if r, err = DecodeReads(value); err == nil {
			c.reads, c.claimed = &r, false
		}
	case KindObeys:
		var o Obeys
		if o, err = DecodeObeys(value); err == nil {
			c.Obeys = o
		}
	case KindBlock:
		var data []byte
		if data, err = DecodeBlock(value); err == nil {
			if c.blocks[p] == nil {
				c.blocks[p] = map[blockID][]byte{}
			}
			c.blocks[p][blockID{k.Incarnation, k.Block}] = append([]byte(nil), data...)
			c.healed(p, k)
		}
	}
	if errors.Is(err, ErrVersion) {
		return fmt.Errorf("ledger record %s at offset %d: %w; run the build that wrote it or a newer one", k, offset, err)
	}
	if err != nil {
		c.damage(k, p, offset, err)
	}
	return nil
}

// damage remembers a record that cannot be used. A damaged head also hides the older head of its partition: the older
// one would be below what was mirrored since and could only be trusted after looking at the target anyway.
func (c *Contents) damage(k Key, p partition.ID, offset int64, err error) {
	d := Damage{Key: k.String(), Offset: offset, Err: err}
	if k.Kind == KindHead || k.Kind == KindBlock || k.Kind == KindBegin {
		if k.Kind == KindHead {
			delete(c.Heads, p)
		}
		if k.Kind == KindBegin {
			delete(c.Begins, p)
		}
		c.Damaged[p] = append(c.Damaged[p], d)
		return
	}
	switch k.Kind {
	case KindConfigs:
		delete(c.Configs, k.Topic)
	case KindClaim:
		c.Claim = nil // an older one may name a writer that is long gone, and say "released"
	case KindStart:
		c.Start = nil
	case KindStartTopic:
		delete(c.StartTopics, k.Topic)
	case KindIsolation:
		c.reads = nil
	case KindObeys:
		c.Obeys = Obeys{} // nothing is known to be in force
	case KindHead, KindBlock, KindBegin: // above
	case KindMeta: // the older one stands: it never changes
	}
	c.Other = append(c.Other, d)
}

// healed forgets damage of a key that a later record replaced.
func (c *Contents) healed(p partition.ID, k Key) {
	kept := c.Damaged[p][:0]
	for _, d := range c.Damaged[p] {
		if d.Key != k.String() {
			kept = append(kept, d)
		}
	}
	if len(kept) == 0 {
		delete(c.Damaged, p)
		return
	}
	c.Damaged[p] = kept
}

func (c *Contents) delete(k Key, p partition.ID) {
	switch k.Kind {
	case KindMeta:
		c.Meta = nil
	case KindClaim:
		c.Claim = nil
	case KindHead:
		delete(c.Heads, p)
		c.healed(p, k)
	case KindBlock:
		delete(c.blocks[p], blockID{k.Incarnation, k.Block})
		c.healed(p, k)
	case KindBegin:
		delete(c.Begins, p)
		c.healed(p, k)
	case KindConfigs:
		delete(c.Configs, k.Topic)
	case KindStart:
		c.Start = nil
	case KindStartTopic:
		delete(c.StartTopics, k.Topic)
	case KindIsolation:
		c.reads = nil
	case KindObeys:
		c.Obeys = Obeys{}
	}
}

// Reads is what was read of the source for what the lane has written last. It is not known where a build that does not say it
// has claimed the lane since: it leaves the record as it is.
func (c *Contents) Reads() Isolation {
	if c.reads == nil || c.claimed && c.Claim != nil && c.reads.Owner != c.Claim.Owner {
		return IsolationUnknown
	}
	return c.reads.Isolation
}

// ClaimLost says that the lane was claimed, by whom is not known: its partitions may be written by somebody who did not
// release them.
func (c *Contents) ClaimLost() bool {
	if c.Claim != nil {
		return false
	}
	claimed := slices.ContainsFunc(c.Other, func(d Damage) bool { return d.Key == Key{Kind: KindClaim}.String() })
	return claimed || len(c.Heads) > 0 || slices.ContainsFunc(slices.Collect(maps.Values(c.Damaged)), func(ds []Damage) bool {
		// Begins are written before the first claim, so damage to one says nothing of it.
		return slices.ContainsFunc(ds, func(d Damage) bool { return !strings.HasPrefix(d.Key, "begin/") })
	})
}

// HeadDamaged says whether the newest head record of a partition could not be used.
func (c *Contents) HeadDamaged(p partition.ID) (Damage, bool) { return c.damagedAt(p, KindHead) }

// BeginDamaged says whether the begin record of a partition could not be used: where its mirroring began is not known.
func (c *Contents) BeginDamaged(p partition.ID) (Damage, bool) { return c.damagedAt(p, KindBegin) }

func (c *Contents) damagedAt(p partition.ID, kind Kind) (Damage, bool) {
	want := Key{Kind: kind, Topic: p.Topic, Partition: p.Partition}.String()
	for _, d := range c.Damaged[p] {
		if d.Key == want {
			return d, true
		}
	}
	return Damage{}, false
}

// DropBegin says that mirroring of a partition begins with its oldest record, whatever was found about it.
func (c *Contents) DropBegin(p partition.ID) {
	delete(c.Begins, p)
	c.healed(p, Key{Kind: KindBegin, Topic: p.Topic, Partition: p.Partition})
}

// Forget drops all that is known of a partition.
func (c *Contents) Forget(p partition.ID) {
	delete(c.Heads, p)
	delete(c.Begins, p)
	delete(c.Damaged, p)
	delete(c.blocks, p)
}

// SetBegin decides anew where mirroring of a partition begins, which nothing was mirrored of, whatever was found about it.
func (c *Contents) SetBegin(p partition.ID, b Begin) {
	c.Begins[p] = b
	c.healed(p, Key{Kind: KindBegin, Topic: p.Topic, Partition: p.Partition})
}

// Beginning says where mirroring of a partition began, for the source topic that its map is of: atLogStart, with the
// oldest record that there was, or chosen, at a later one because the flow was told so. It is neither where the record
// about it is damaged.
func (c *Contents) Beginning(p partition.ID, topicID [16]byte) (atLogStart, chosen bool) {
	if _, bad := c.BeginDamaged(p); bad {
		return false, false
	}
	b, ok := c.Begins[p]
	chosen = ok && b.TopicID == topicID
	return !chosen, chosen
}

// Map rebuilds the offset map of a partition from its head and blocks. A missing or damaged block makes answers in its
// stretch bounded (offsetmap.Load). The error says that the head's own part cannot be decoded.
func (c *Contents) Map(p partition.ID) (*offsetmap.Map, error) {
	h, ok := c.Heads[p]
	if !ok {
		return nil, fmt.Errorf("no head of %s-%d in the ledger", p.Topic, p.Partition)
	}
	// The incarnation is inside the tail, so the tail is decoded first without blocks to learn which blocks are its.
	bare, err := offsetmap.Load(h.Map, nil)
	if err != nil {
		return nil, fmt.Errorf("head of %s-%d: %w", p.Topic, p.Partition, err)
	}
	var blocks []offsetmap.Block
	for id, data := range c.blocks[p] {
		if id.incarnation == bare.Origin().Incarnation {
			blocks = append(blocks, offsetmap.Block{Number: id.number, Data: data})
		}
	}
	m, err := offsetmap.Load(h.Map, blocks)
	if err != nil {
		return nil, fmt.Errorf("offset map of %s-%d: %w", p.Topic, p.Partition, err)
	}
	return m, nil
}
