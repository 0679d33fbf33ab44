//go:build unix

package testcluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// KcatLoad is what kcat (librdkafka) produces: an implementation of Kafka's
// formats that shares nothing with the Java and Go ones.
type KcatLoad struct {
	Topic     string
	Partition int32
	Codec     Codec
	Lines     []string // one record each: KEY<tab>VALUE, or VALUE alone for a null key
	// Props are further librdkafka properties, such as "batch.num.messages".
	Props map[string]string
}

// KcatProduce writes a load; client are the properties of the cluster
// ([Real.KcatProps]).
func KcatProduce(ctx context.Context, client map[string]string, l KcatLoad) error {
	codec := l.Codec
	if codec == "" {
		codec = "none"
	}
	argv := append([]string{"kcat", "-P", "-t", l.Topic, "-p", strconv.Itoa(int(l.Partition)), "-z", string(codec), "-K", `\t`},
		kcatProps(client, l.Props)...)
	// Without a final delimiter kcat would not take the last line for a record.
	input := strings.Join(l.Lines, "\n") + "\n"
	if _, err := runCommandInput(ctx, argv, "", strings.NewReader(input)); err != nil {
		return fmt.Errorf("kcat produce to %s: %w", l.Topic, err)
	}
	return nil
}

// KcatRead says what kcat reads.
type KcatRead struct {
	Topic string
	// Group makes kcat a group member that resumes at the group's positions
	// and commits when it leaves; Count must be set. Without it kcat reads one
	// partition from Offset on.
	Group     string
	Partition int32
	Offset    int64
	Count     int // stop after that many records; 0: at the end of the partition
	// Props are further librdkafka properties, such as "isolation.level" or
	// "auto.offset.reset".
	Props map[string]string
}

// KcatRecord is one record as kcat prints it. Null and empty look the same.
type KcatRecord struct {
	Partition  int32
	Offset     int64
	Timestamp  int64
	Key, Value string
}

// KcatConsume reads records and lets librdkafka check their CRCs.
func KcatConsume(ctx context.Context, client map[string]string, r KcatRead) ([]KcatRecord, error) {
	// Values of this package have neither tabs nor line ends.
	argv := []string{"kcat", "-q", "-f", `%p\t%o\t%T\t%k\t%s\n`, "-X", "check.crcs=true"}
	argv = append(argv, kcatProps(client, r.Props)...)
	if r.Count > 0 {
		argv = append(argv, "-c", strconv.Itoa(r.Count))
	}
	if r.Group != "" {
		argv = append(argv, "-G", r.Group, r.Topic)
	} else {
		argv = append(argv, "-C", "-e", "-t", r.Topic,
			"-p", strconv.Itoa(int(r.Partition)), "-o", strconv.FormatInt(r.Offset, 10))
	}
	out, err := runCommand(ctx, argv, "")
	if err != nil {
		return nil, fmt.Errorf("kcat consume %s: %w", r.Topic, err)
	}
	return parseKcat(out)
}

func parseKcat(out string) ([]KcatRecord, error) {
	var recs []KcatRecord
	for line := range strings.Lines(out) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) != 5 {
			return nil, fmt.Errorf("kcat printed %q, not five fields", line)
		}
		var numbers [3]int64
		for i := range numbers {
			n, err := strconv.ParseInt(fields[i], 10, 64)
			if err != nil {
				return nil, fmt.Errorf("kcat printed %q: %w", line, err)
			}
			numbers[i] = n
		}
		recs = append(recs, KcatRecord{
			Partition: int32(numbers[0]), Offset: numbers[1], Timestamp: numbers[2],
			Key: fields[3], Value: fields[4],
		})
	}
	return recs, nil
}

func kcatProps(client, more map[string]string) []string {
	props := maps.Clone(client)
	if props == nil {
		props = map[string]string{}
	}
	maps.Copy(props, more)
	var argv []string
	for _, k := range slices.Sorted(maps.Keys(props)) {
		argv = append(argv, "-X", k+"="+props[k])
	}
	return argv
}
