// Package score compares maps with marks and with the truth.
package score

import (
	"context"

	"mrprism/internal/data/dataset"
)

// AsError is the problems as an error; nil without problems.
func AsError(problems dataset.Problems) error {
	if len(problems) == 0 {
		return nil
	}
	return problems
}

// InOrder makes the results 0 … n-1, some at once, and keeps them one after another in their order.
// It ends at the first error.
func InOrder[T any](ctx context.Context, n, atOnce int, result func(i int) (T, error), keep func(T) error) error {
	for from := 0; from < n; from += atOnce {
		made := make([]T, min(atOnce, n-from))
		err := dataset.Each(ctx, len(made), nil, func(i int) (err error) {
			made[i], err = result(from + i)
			return err
		})
		for i := 0; i < len(made) && err == nil; i++ {
			err = keep(made[i])
		}
		if err != nil {
			return err
		}
	}
	return nil
}
