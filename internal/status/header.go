package status

import "time"

// Unknown stands for an offset or a count that nobody could tell.
const Unknown int64 = -1

// Header is what every snapshot begins with.
type Header struct {
	Flow    string    `json:"flow"` // "A->B"
	At      time.Time `json:"at"`   // when the clusters were read
	Source  Source    `json:"source"`
	Trouble []Trouble `json:"trouble,omitempty"` // what could not be read, so that the snapshot is not complete
	Notes   []string  `json:"notes,omitempty"`   // what is worth knowing beside the data
	Tools   Tools     `json:"-"`                 // for the commands in its sentences
}

// Source says whether the source cluster answered. Without it a snapshot is made from the target alone.
type Source struct {
	Asked     bool   `json:"asked"` // false: the snapshot needs nothing from the source
	Reached   bool   `json:"reached"`
	ClusterID string `json:"cluster_id,omitempty"`
	Error     string `json:"error,omitempty"` // why it was not reached
}

// sourceFindings is that the source was needed and did not answer. Then what is shown can be old, and a check that
// passed would say that a group's last commit is on the target, which nobody knows.
func (h Header) sourceFindings() []string {
	if h.Source.Asked && !h.Source.Reached {
		return []string{"the source does not answer, so lag and newest commits are not known"}
	}
	return nil
}

// Trouble is one thing that could not be read.
type Trouble struct {
	What  string `json:"what"`
	Error string `json:"error"`
}

// String is one clause for people.
func (t Trouble) String() string { return t.What + ": " + t.Error }

// Damage is a record of a topic that cannot be used.
type Damage struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
	Key       string `json:"key"` // as stored; quoted by Go's rules where it is not plain text
	Error     string `json:"error"`
}

// Complete says whether everything that was to be read could be read.
func (h Header) Complete() bool { return len(h.Trouble) == 0 }
