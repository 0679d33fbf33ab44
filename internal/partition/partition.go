// Package partition has the name of a partition of a topic, one type for all packages, so that nothing has to be turned
// from one form into another on its way. It says nothing about where the partition is: source or target is in the name of
// the field or variable that holds it.
package partition

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// ID names one partition of a topic.
type ID struct {
	Topic     string
	Partition int32 // from 0 on
}

// String is "orders-3", the form Kafka's own tools and logs use.
func (p ID) String() string { return p.Topic + "-" + strconv.Itoa(int(p.Partition)) }

// Compare orders by topic name, then by partition number.
func (p ID) Compare(other ID) int {
	return cmp.Or(cmp.Compare(p.Topic, other.Topic), cmp.Compare(p.Partition, other.Partition))
}

// MarshalText is String, so that an ID can be a key in JSON.
func (p ID) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads what MarshalText wrote; the topic may hold dashes.
func (p *ID) UnmarshalText(text []byte) error {
	s := string(text)
	i := strings.LastIndexByte(s, '-')
	if i < 0 {
		return fmt.Errorf("partition %q has no number", s)
	}
	n, err := strconv.ParseUint(s[i+1:], 10, 31)
	if err != nil {
		return fmt.Errorf("partition %q: %w", s, err)
	}
	p.Topic, p.Partition = s[:i], int32(n)
	return nil
}
