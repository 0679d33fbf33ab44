package topics

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"

	"tidemark/internal/events"
	"tidemark/internal/kafka"
)

// createWithout creates a remote topic without the settings that the target refuses, which it names one at a time and only in
// words: each is tried alone, without creating anything. refusal is the answer to all of them. One setting that the target
// does not know must not keep the records from it.
func (s *Syncer) createWithout(ctx context.Context, spec kafka.TopicSpec, refusal error) error {
	all := spec.Configs
	spec.Configs = map[string]*string{}
	var whys []string
	for _, k := range slices.Sorted(maps.Keys(all)) {
		try := spec
		try.Configs, try.ValidateOnly = map[string]*string{k: all[k]}, true
		switch err := s.target.CreateTopic(ctx, try); {
		case err == nil:
			spec.Configs[k] = all[k]
		case errors.Is(err, kerr.InvalidConfig):
			whys = append(whys, fmt.Sprintf("%s=%s: %v", k, text(all[k]), err))
		default:
			return err
		}
	}
	if len(whys) == 0 {
		return refusal // they do not go together
	}
	if err := s.target.CreateTopic(ctx, spec); err != nil {
		return err
	}
	why := strings.Join(whys, "; ")
	s.events.Say(events.TopicWithout, "remote", spec.Name, "error", why)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.without[spec.Name] = why
	return nil
}

func text(v *string) string {
	if v == nil {
		return ""
	}
	return *v
}
