package fuse

import (
	"math"
	"testing"

	"mrprism/internal/data/dataset"
	"mrprism/internal/data/fusion"

	"github.com/stretchr/testify/require"
)

// Pixels of all images count together. Rates that no pixel defines stay empty.
func TestPooled(t *testing.T) {
	f := &Study{data: &dataset.Dataset{Raters: []string{"ann", "bob"}}}
	rows := f.rate(MeanVote.Name, "one", "disc", [][]uint8{{1, 1, 0, 0}, nil}, fusion.MeanVote([][]uint8{{1, 1, 0, 0}, nil}))
	require.Len(t, rows, 1, "bob has not marked")
	marks := [][]uint8{{0, 0, 0, 0}, {1, 0, 0, 0}}
	rows = append(rows, f.rate(MeanVote.Name, "two", "disc", marks, fusion.MeanVote(marks))...)
	ann := pooled(MeanVote.Name, "disc", "ann", rows)
	require.InDelta(t, 2/2.5, ann.Sensitivity, 1e-12)
	require.InDelta(t, 1, ann.Specificity, 1e-12)
	require.InDelta(t, math.Log(2/2.5), ann.Bias, 1e-12)
	require.Nil(t, pooled(MeanVote.Name, "cup", "ann", rows))
	empty := [][]uint8{{0, 0}, {0, 0}}
	rows = f.rate(MeanVote.Name, "none", "disc", empty, fusion.MeanVote(empty))
	all := pooled(MeanVote.Name, "disc", "bob", rows)
	require.True(t, math.IsNaN(all.Sensitivity) && math.IsNaN(all.Bias))
	require.Equal(t, 1., all.Specificity)
}
