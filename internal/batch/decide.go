package batch

import "errors"

// Action is what to do with one fetched batch.
type Action uint8

// Actions. The zero value is none of them, so that a forgotten decision
// cannot pass for one.
const (
	Raw     Action = iota + 1 // Patch and produce
	Skip                      // no data for us: go on at NextOffset
	Rebuild                   // Builder.Rebuild
	Split                     // Builder.Rebuild too; only the size is at fault
	Halt                      // stop the partition and say why
)

func (a Action) String() string {
	switch a {
	case Raw:
		return "raw"
	case Skip:
		return "skip"
	case Rebuild:
		return "rebuild"
	case Split:
		return "split"
	case Halt:
		return "halt"
	}
	return "undecided"
}

// Reason says why an action was chosen, in words fit for a log or a verdict.
type Reason string

// Reasons by action.
const (
	ReasonNone Reason = "" // raw, nothing stands against it

	ReasonBehind  Reason = "before the position"
	ReasonControl Reason = "transaction marker"
	ReasonAborted Reason = "aborted transaction"
	ReasonEmpty   Reason = "no record left by compaction"

	ReasonCrop       Reason = "begins before the position"
	ReasonUntil      Reason = "holds records that are skipped by choice"
	ReasonGaps       Reason = "offsets missing by compaction"
	ReasonAppendTime Reason = "log append time becomes the record timestamp"

	ReasonSize Reason = "larger than the target's max.message.bytes"

	ReasonUnknown  Reason = "attribute or codec unknown to this version"
	ReasonCorrupt  Reason = "checksum or contents do not hold"
	ReasonTooLarge Reason = "one record larger than the target's max.message.bytes"
)

// Case is what Decide must know besides the batch. The zero value forwards
// whatever a target without limits takes.
type Case struct {
	// Position is the next source offset to mirror.
	Position int64
	// Until is the first source offset at or above Position that is not to be
	// mirrored, 0 for none.
	Until int64
	// MaxBytes is the target's max.message.bytes, 0 for no limit.
	MaxBytes int32
	// KeepAppendTime: batches of LogAppendTime topics get every timestamp
	// rewritten to the append time, so that consumers of the target see what
	// they saw on the source. It is the default policy, and what MirrorMaker 2
	// does by copying timestamps. Leave it false only for a LogAppendTime
	// target: that stamps anew, and the batch goes raw with the bit cleared.
	KeepAppendTime bool
}

// Decide chooses the action for a batch; aborted is AbortFilter.Drop's answer.
// It reads the header. The payload is read only for the CRC of batches that
// are skipped as control, aborted or empty: a skip is the one decision whose
// mistake no target broker can catch. Behind the position nothing is checked,
// it has been handled before.
//
// Whether to merge small batches is the caller's choice: any batch that is
// Raw here may go through Rebuild together with neighbours of its codec.
func Decide(v View, aborted bool, c Case) (Action, Reason) {
	if v.known() != nil {
		return Halt, ReasonUnknown
	}
	if v.NextOffset() <= c.Position {
		return Skip, ReasonBehind
	}
	if v.Control() || aborted || v.Count() == 0 {
		return decideSkip(v)
	}
	if reason := c.rebuild(v); reason != ReasonNone {
		return Rebuild, reason
	}
	if c.MaxBytes > 0 && len(v) > int(c.MaxBytes) {
		if v.Count() == 1 {
			return Halt, ReasonTooLarge
		}
		return Split, ReasonSize
	}
	return Raw, ReasonNone
}

func decideSkip(v View) (Action, Reason) {
	if v.CheckCRC() != nil {
		return Halt, ReasonCorrupt
	}
	switch {
	case v.Count() == 0:
		return Skip, ReasonEmpty
	case v.Control():
		// An unreadable marker may have been the end of an aborted
		// transaction. A readable one of a kind that we do not know is
		// passed over, as Java's consumer does.
		if _, _, err := Marker(v); err != nil && !errors.Is(err, ErrUnsupported) {
			return Halt, ReasonCorrupt
		}
		return Skip, ReasonControl
	}
	return Skip, ReasonAborted
}

// rebuild is the first reason why the records must be written again.
func (c Case) rebuild(v View) Reason {
	switch {
	case v.BaseOffset() < c.Position:
		return ReasonCrop
	case c.Until > 0 && v.NextOffset() > c.Until:
		return ReasonUntil
	case int64(v.Count()) != int64(v.LastOffsetDelta())+1:
		return ReasonGaps
	case v.LogAppendTime() && c.KeepAppendTime:
		return ReasonAppendTime
	}
	return ReasonNone
}
