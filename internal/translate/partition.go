package translate

import (
	"fmt"
	"strconv"
	"strings"
)

// A Partition names a partition; whether of source or target says the field.
type Partition struct {
	Topic  string
	Number int32
}

// String is "topic-3", as Kafka prints it.
func (p Partition) String() string { return fmt.Sprintf("%s-%d", p.Topic, p.Number) }

// MarshalText writes "topic-3", so that a Partition can be a JSON key.
func (p Partition) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads what MarshalText wrote; the topic may hold dashes.
func (p *Partition) UnmarshalText(text []byte) error {
	s := string(text)
	i := strings.LastIndexByte(s, '-')
	if i < 0 {
		return fmt.Errorf("partition %q has no number", s)
	}
	n, err := strconv.ParseUint(s[i+1:], 10, 31)
	if err != nil {
		return fmt.Errorf("partition %q: %w", s, err)
	}
	p.Topic, p.Number = s[:i], int32(n)
	return nil
}
