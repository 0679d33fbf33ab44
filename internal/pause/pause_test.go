package pause

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			ends, d, took time.Duration
			want          bool
		}{
			{time.Hour, time.Minute, time.Minute, true},
			{time.Minute, time.Hour, time.Minute, false},
			{time.Hour, 0, 0, true},
			{time.Hour, -time.Second, 0, true},
			{-time.Second, time.Minute, 0, false},
			{-time.Second, 0, 0, false},
		} {
			began := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), c.ends)
			if got := For(ctx, c.d); got != c.want || time.Since(began) != c.took {
				t.Errorf("%+v: %v after %v", c, got, time.Since(began))
			}
			cancel()
		}
	})
}
