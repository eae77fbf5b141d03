package fuse

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mrprism/internal/data/dataset"
	"mrprism/internal/data/fusion"
	"mrprism/internal/study/studytest"

	"github.com/stretchr/testify/require"
)

// Pixels of all images count together. Rates that no pixel defines stay empty.
func TestPooled(t *testing.T) {
	f := &Study{data: &dataset.Dataset{Raters: []string{"ann", "bob"}}}
	rows := f.rate(meanVote, "one", "disc", [][]uint8{{1, 1, 0, 0}, nil}, fusion.MeanVote([][]uint8{{1, 1, 0, 0}, nil}))
	require.Len(t, rows, 1, "bob has not marked")
	marks := [][]uint8{{0, 0, 0, 0}, {1, 0, 0, 0}}
	rows = append(rows, f.rate(meanVote, "two", "disc", marks, fusion.MeanVote(marks))...)
	ann := pooled(meanVote, "disc", "ann", rows)
	require.InDelta(t, 2/2.5, ann.Sensitivity, 1e-12)
	require.InDelta(t, 1, ann.Specificity, 1e-12)
	require.InDelta(t, math.Log(2/2.5), ann.bias, 1e-12)
	require.Nil(t, pooled(meanVote, "cup", "ann", rows))
	empty := [][]uint8{{0, 0}, {0, 0}}
	rows = f.rate(meanVote, "none", "disc", empty, fusion.MeanVote(empty))
	all := pooled(meanVote, "disc", "bob", rows)
	require.True(t, math.IsNaN(all.Sensitivity) && math.IsNaN(all.bias))
	require.Equal(t, 1., all.Specificity)
}

// A stopped program has the CSVs of the images that it fused, and says that they are a part.
func TestFuseStopped(t *testing.T) {
	dir, _ := studytest.Synthesise(t)
	data, err := dataset.Open(dir)
	require.NoError(t, err)
	f, before := New(data, data.Cases, Request{Data: dir, Out: t.TempDir()}), func(name, doing string) {}
	require.NoError(t, f.learn(t.Context(), before))
	require.NoError(t, os.Remove(f.data.Cases[2].Image))
	require.ErrorContains(t, f.fuseAll(t.Context(), before), f.data.Cases[2].Image)
	require.Equal(t, 2, f.images)
	var table strings.Builder
	require.NoError(t, f.Save())
	require.NoError(t, f.Document().Print(&table))
	require.Contains(t, table.String(), "stopped before all 5 images were fused")
	require.Len(t, studytest.Records(t, filepath.Join(f.Out, "scores.csv")), 2*6*(2+1))

	stopped, stop := context.WithCancel(t.Context())
	stop()
	require.ErrorIs(t, f.learn(stopped, before), context.Canceled)
	require.ErrorIs(t, f.fuseAll(stopped, before), context.Canceled)
}
