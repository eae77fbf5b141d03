package dataset

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Results are kept in their order, and none after a failure.
func TestInOrder(t *testing.T) {
	var order []int
	keep := func(i int) error { order = append(order, i); return nil }
	require.NoError(t, InOrder(t.Context(), 7, 3, func(i int) (int, error) {
		time.Sleep(time.Duration(7-i) * time.Millisecond)
		return i, nil
	}, keep))
	require.Equal(t, []int{0, 1, 2, 3, 4, 5, 6}, order)
	lost := errors.New("lost")
	order = nil
	require.ErrorIs(t, InOrder(t.Context(), 7, 2, func(i int) (int, error) {
		if i == 2 {
			return 0, lost
		}
		return i, nil
	}, keep), lost)
	require.Equal(t, []int{0, 1}, order)
}
