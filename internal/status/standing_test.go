package status

import "testing"

func TestStands(t *testing.T) {
	at := func(mirrored, visible, mapEnd, target int64) Look {
		return Look{MirroredTo: mirrored, Visible: visible, MapEnd: mapEnd, TargetEnd: target}
	}
	for name, tc := range map[string]struct {
		first, second Look
		waiting       int64
		stands        bool
	}{
		"nothing moves":                       {at(100, 150, 90, 90), at(100, 160, 90, 90), 50, true},
		"all is there":                        {at(100, 100, 90, 90), at(100, 100, 90, 90), 0, false},
		"behind an open transaction":          {at(100, 100, 90, 90), at(100, 100, 90, 90), 0, false},
		"records came between the looks":      {at(100, 100, 90, 90), at(100, 150, 90, 90), 0, false},
		"the target grows":                    {at(100, 150, 90, 95), at(100, 150, 90, 99), 45, false},
		"the ledger follows":                  {at(100, 150, 90, 90), at(150, 150, 140, 140), 50, false},
		"holes only: the ledger alone moves":  {at(100, 150, 90, 90), at(150, 150, 90, 90), 50, false},
		"written, the ledger does not follow": {at(100, 110, 90, 100), at(100, 110, 90, 100), 0, false},
		"a part is written, then nothing":     {at(100, 150, 90, 100), at(100, 150, 90, 100), 40, true},
		"the ledger knows more than the ends": {at(100, 99, 90, 89), at(100, 99, 90, 89), 0, false},
		"the source is silent":                {at(100, Unknown, 90, 90), at(100, Unknown, 90, 90), 0, false},
		"no remote topic":                     {at(100, 150, 90, Unknown), at(100, 150, 90, Unknown), 0, false},
		"no map":                              {at(100, 150, Unknown, 90), at(100, 150, Unknown, 90), 0, false},
		"nothing was ever mirrored":           {at(Unknown, 150, Unknown, 0), at(Unknown, 150, Unknown, 0), 0, false},
	} {
		if got := tc.first.Waiting(); got != tc.waiting {
			t.Errorf("%s: %d wait, want %d", name, got, tc.waiting)
		}
		if got := Stands(tc.first, tc.second); got != tc.stands {
			t.Errorf("%s: stands %v", name, got)
		}
	}
}
