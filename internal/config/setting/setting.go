package setting

import (
	"errors"
	"fmt"
	"math"
	"net"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/internal/config/report"
	"tidemark/mm2"
)

// Limits of the two settings that cost memory or partitions.
const (
	maxLanes  = 1000
	minMemory = 8 << 20 // two fetch responses of 4 MiB: with less, fetching and producing would wait for each other
)

// InTopicName says whether a text can stand in a topic name, as aliases and separators do.
func InTopicName(text string) bool {
	const characters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
	return text != "" && strings.Trim(text, characters) == ""
}

// Setting is one field of a struct that a key of a file sets.
type Setting struct {
	Field  string        // its name
	Value  reflect.Value // the field itself
	Kind   string        // the tag of that name
	Choice []string      // the words that are allowed; empty where any is
	upper  bool          // the case of a word does not matter
}

// Of are the fields of the structs that targets point to which have the tag, by the tag's value.
func Of(tag string, targets ...any) map[string]Setting {
	out := map[string]Setting{}
	for _, target := range targets {
		v := reflect.ValueOf(target).Elem()
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if key := keyOf(f, tag); key != "" {
				out[key] = Setting{
					Field: f.Name, Value: v.Field(i), Kind: f.Tag.Get("kind"),
					Choice: strings.Fields(f.Tag.Get("choice")), upper: f.Tag.Get("fold") == "upper",
				}
			}
		}
	}
	return out
}

// keyOf is the key that a field's tag names; what encoders are told after a comma is no part of it.
func keyOf(f reflect.StructField, tag string) string {
	key, _, _ := strings.Cut(f.Tag.Get(tag), ",")
	return key
}

// Keys are the tag's values, sorted.
func Keys(all map[string]Setting) []string {
	keys := make([]string, 0, len(all))
	for k := range all {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// InOrder are the settings of a struct in the order of its fields, with their keys.
func InOrder(tag string, target any) (keys []string, all map[string]Setting) {
	all = Of(tag, target)
	for f := range reflect.TypeOf(target).Elem().Fields() {
		if key := keyOf(f, tag); key != "" {
			keys = append(keys, key)
		}
	}
	return keys, all
}

// Set gives the field the value that text stands for. Lists are given by SetList, durations by SetDuration.
func (s Setting) Set(text string) *report.Fault {
	switch s.Value.Kind() {
	case reflect.Bool:
		switch strings.ToLower(text) {
		case "true", "false":
			s.Value.SetBool(strings.EqualFold(text, "true"))
			return nil
		}
		return report.Wrong(fmt.Sprintf("%q is neither true nor false", text), "write true or false")
	case reflect.Int16:
		return s.setFactor(text)
	case reflect.Int:
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxLanes {
			return report.Wrong(fmt.Sprintf("%q is not a number from 1 to %d", text, maxLanes), "32 suits most flows")
		}
		s.Value.SetInt(int64(n))
		return nil
	case reflect.Int64:
		return s.setSize(text)
	default:
		return s.setText(text)
	}
}

// setText sets a string field. The value of a Secret never shows in the fault.
func (s Setting) setText(text string) *report.Fault {
	if s.upper {
		text = strings.ToUpper(text)
	}
	if len(s.Choice) > 0 && !slices.Contains(s.Choice, text) {
		do := "write " + strings.Join(s.Choice[:len(s.Choice)-1], ", ") + " or " + s.Choice[len(s.Choice)-1]
		return report.Wrong(fmt.Sprintf("%q is not one of the choices", text), do)
	}
	switch {
	case s.Kind == "alias": // whether it enters a topic name depends on others
	case s.Kind == "separator":
		if text != "" && !InTopicName(text) {
			return report.Wrong(fmt.Sprintf("%q cannot stand in a topic name", text), `use ".", "-", "_", letters or digits`)
		}
	case text == "":
		return report.Wrong("is empty", "give a value or remove the key")
	}
	s.Value.SetString(text)
	return nil
}

func (s Setting) setFactor(text string) *report.Fault {
	n, err := strconv.ParseInt(text, 10, 16)
	if err != nil || n < -1 || n == 0 {
		return report.Wrong(fmt.Sprintf("%q is no replication factor", text), "write 1 or more, or -1 for the broker's default")
	}
	s.Value.SetInt(n)
	return nil
}

// setSize reads bytes, or a number with KiB, MiB or GiB. KB and MB are refused: half of their users mean 1,024.
func (s Setting) setSize(text string) *report.Fault {
	number, unit := text, int64(1)
	for i, suffix := range []string{"KiB", "MiB", "GiB"} {
		if cut, ok := strings.CutSuffix(text, suffix); ok {
			number, unit = strings.TrimSpace(cut), int64(1)<<(10*(i+1))
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n > math.MaxInt64/unit || n < math.MinInt64/unit {
		return report.Wrong(fmt.Sprintf("%q is no size", text), "write bytes, or a number with KiB, MiB or GiB, such as 64MiB")
	}
	if s.Kind != "bytes" && n*unit < minMemory {
		return report.Wrong(fmt.Sprintf("%q is too little to mirror with", text), fmt.Sprintf("give at least %d MiB", minMemory>>20))
	}
	s.Value.SetInt(n * unit)
	return nil
}

// SetDuration sets an interval field. Nothing here runs at interval 0, and MirrorMaker 2's -1 for "never" has a switch
// of its own. Settings of clients have bounds, which their caller checks.
func (s Setting) SetDuration(d time.Duration) *report.Fault {
	if d <= 0 && s.Kind != "bounded" {
		return report.Wrong("an interval must be longer than 0", "to switch it off use the key that enables it")
	}
	s.Value.SetInt(int64(d))
	return nil
}

// SetList sets a list field and reports every element that is wrong.
func (s Setting) SetList(elements []string) []report.Fault {
	var faults []report.Fault
	out := make([]string, 0, len(elements))
	for _, e := range elements {
		e = strings.TrimSpace(e)
		var f *report.Fault
		switch s.Kind {
		case "addresses":
			e, f = address(e)
		case "pairs":
			f = pair(e)
		default:
			f = s.pattern(e)
		}
		if f != nil {
			faults = append(faults, *f)
		}
		out = append(out, e)
	}
	if s.Kind == "addresses" && len(out) == 0 {
		faults = append(faults, *report.Wrong("no address", "give one or more as host:port"))
	}
	s.Value.Set(reflect.ValueOf(out))
	return faults
}

// pair checks name=value.
func pair(text string) *report.Fault {
	if name, _, ok := strings.Cut(text, "="); !ok || name == "" {
		return report.Wrong("an element is not of the form name=value", "write [name=value]")
	}
	return nil
}

// pattern checks one filter pattern with the very code that will match with it.
func (s Setting) pattern(text string) *report.Fault {
	if text == "" {
		return report.Wrong("an empty pattern matches no name", "remove it")
	}
	include, exclude := []string{text}, []string(nil)
	if strings.HasSuffix(s.Field, "Exclude") { // what to write instead is for the other list
		include, exclude = nil, include
	}
	_, err := mm2.NewKeyedFilter("", include, exclude)
	if pe, ok := errors.AsType[*mm2.PatternError](err); ok {
		return report.Wrong(fmt.Sprintf("pattern %q: %s", text, pe.Reason), pe.Nearest)
	}
	return nil
}

// address checks host:port. As Java does, it lets a protocol in front pass: kafka-topics.sh prints SASL_SSL://host:9093.
func address(text string) (string, *report.Fault) {
	if _, rest, ok := strings.Cut(text, "://"); ok {
		text = rest
	}
	host, port, err := net.SplitHostPort(text)
	n, perr := strconv.ParseUint(port, 10, 16)
	if err != nil || host == "" || perr != nil || n == 0 {
		return text, report.Wrong(fmt.Sprintf("%q is no address", text), "write host:port, such as kafka1:9092 or [::1]:9092")
	}
	return text, nil
}
