package config

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

// setting is one field of a Flow or Cluster that a key of the file sets. The field's type says how a value is read;
// the tags kind, choice and fold narrow it. See Flow and Cluster for the tags.
type setting struct {
	field  string
	value  reflect.Value
	kind   string
	choice []string
	upper  bool
}

// settings are the fields of the structs that targets point to which have the tag, by the tag's value.
func settings(tag string, targets ...any) map[string]setting {
	out := map[string]setting{}
	for _, target := range targets {
		v := reflect.ValueOf(target).Elem()
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if key := f.Tag.Get(tag); key != "" {
				out[key] = setting{
					field: f.Name, value: v.Field(i), kind: f.Tag.Get("kind"),
					choice: strings.Fields(f.Tag.Get("choice")), upper: f.Tag.Get("fold") == "upper",
				}
			}
		}
	}
	return out
}

// keysOf are the tag's values, sorted.
func keysOf(all map[string]setting) []string {
	keys := make([]string, 0, len(all))
	for k := range all {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// set gives the field the value that text stands for. Lists are given by setList, durations by setDuration.
func (s setting) set(text string) *report.Fault {
	switch s.value.Kind() {
	case reflect.Bool:
		switch strings.ToLower(text) {
		case "true", "false":
			s.value.SetBool(strings.EqualFold(text, "true"))
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
		s.value.SetInt(int64(n))
		return nil
	case reflect.Int64:
		return s.setSize(text)
	default:
		return s.setText(text)
	}
}

// setText sets a string field. The value of a Secret never shows in the fault.
func (s setting) setText(text string) *report.Fault {
	if s.upper {
		text = strings.ToUpper(text)
	}
	if len(s.choice) > 0 && !slices.Contains(s.choice, text) {
		do := "write " + strings.Join(s.choice[:len(s.choice)-1], ", ") + " or " + s.choice[len(s.choice)-1]
		return report.Wrong(fmt.Sprintf("%q is not one of the choices", text), do)
	}
	if s.kind == "separator" {
		if text == "" || strings.Trim(text, topicCharacters) != "" {
			return report.Wrong(fmt.Sprintf("%q cannot stand in a topic name", text), `use ".", "-", "_", letters or digits`)
		}
	} else if text == "" {
		return report.Wrong("is empty", "give a value or remove the key")
	}
	s.value.SetString(text)
	return nil
}

func (s setting) setFactor(text string) *report.Fault {
	n, err := strconv.ParseInt(text, 10, 16)
	if err != nil || n < -1 || n == 0 {
		return report.Wrong(fmt.Sprintf("%q is no replication factor", text), "write 1 or more, or -1 for the broker's default")
	}
	s.value.SetInt(n)
	return nil
}

// setSize reads bytes, or a number with KiB, MiB or GiB. KB and MB are refused: half of their users mean 1,024.
func (s setting) setSize(text string) *report.Fault {
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
	if s.kind != "bytes" && n*unit < minMemory {
		return report.Wrong(fmt.Sprintf("%q is too little to mirror with", text), fmt.Sprintf("give at least %d MiB", minMemory>>20))
	}
	s.value.SetInt(n * unit)
	return nil
}

// setDuration sets an interval field. Nothing here runs at interval 0, and MirrorMaker 2's -1 for "never" has a switch
// of its own. Settings of clients have bounds, which their caller checks.
func (s setting) setDuration(d time.Duration) *report.Fault {
	if d <= 0 && s.kind != "bounded" {
		return report.Wrong("an interval must be longer than 0", "to switch it off use the key that enables it")
	}
	s.value.SetInt(int64(d))
	return nil
}

// setList sets a list field and reports every element that is wrong.
func (s setting) setList(elements []string) []report.Fault {
	var faults []report.Fault
	out := make([]string, 0, len(elements))
	for _, e := range elements {
		e = strings.TrimSpace(e)
		var f *report.Fault
		switch s.kind {
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
	if s.kind == "addresses" && len(out) == 0 {
		faults = append(faults, *report.Wrong("no address", "give one or more as host:port"))
	}
	s.value.Set(reflect.ValueOf(out))
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
func (s setting) pattern(text string) *report.Fault {
	if text == "" {
		return report.Wrong("an empty pattern matches no name", "remove it")
	}
	include, exclude := []string{text}, []string(nil)
	if strings.HasSuffix(s.field, "Exclude") { // what to write instead is for the other list
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
