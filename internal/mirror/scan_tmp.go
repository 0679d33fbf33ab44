package mirror

import "tidemark/internal/batch"

func unmarked(fn func(batch.View, bool) error) func(batch.View) error {
	return func(v batch.View) error { return fn(v, false) }
}
