package config

import (
	"testing"

	"tidemark/internal/config/setting"
)

// TestRolesUseWhatHasADefault: a role has a use for exactly the settings that have a default for it, and the sizes of sockets.
func TestRolesUseWhatHasADefault(t *testing.T) {
	for _, r := range append(Roles(), AnyRole) {
		d := defaultSettings(r)
		for key, s := range setting.Of("client", &d) {
			socket := s.Field == "SendBuffer" || s.Field == "ReceiveBuffer"
			if r.Uses(s.Field) == s.Value.IsZero() && !socket {
				t.Errorf("%s of %q: used %v, default %v", key, r, r.Uses(s.Field), s.Value)
			}
			if n, why := Bounds(r)[s.Field].Within(s.Value.Int()); !s.Value.IsZero() && why != "" {
				t.Errorf("%s of %q: the default is out of bounds, %d is the nearest: %s", key, r, n, why)
			}
			if _, ok := Bounds(r)[s.Field]; !ok {
				t.Errorf("%s has no bounds", key)
			}
		}
	}
}
