package fuse

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mrprism/cmd/study/internal/studytest"
	"mrprism/internal/data/dataset"

	"github.com/stretchr/testify/require"
)

// A stopped program has the CSVs of the images that it fused, and says that they are a part.
func TestFuseStopped(t *testing.T) {
	dir, _ := studytest.Synthesise(t)
	data, err := dataset.Open(dir)
	require.NoError(t, err)
	gone := data.Cases[2]
	f := New(data, data.Cases, Request{Data: dir, Out: t.TempDir()})
	require.ErrorContains(t, f.All(t.Context(), func(name, doing string) {
		if doing == Fusing && name == gone.Name {
			require.NoError(t, os.Remove(gone.Image))
		}
	}), gone.Image)
	require.Equal(t, 2, f.Done())
	var table strings.Builder
	require.NoError(t, f.Save())
	require.NoError(t, f.Document().Print(&table))
	require.Contains(t, table.String(), "stopped before all 5 images were fused")
	require.Len(t, studytest.Records(t, filepath.Join(f.Out, "scores.csv")), 2*6*(2+1))

	for _, when := range []string{"learning the raters", Fusing} {
		dir, _ := studytest.Synthesise(t)
		data, err := dataset.Open(dir)
		require.NoError(t, err)
		stopped, stop := context.WithCancel(t.Context())
		require.ErrorIs(t, New(data, data.Cases, Request{Data: dir, Out: t.TempDir()}).All(stopped, func(_, doing string) {
			if doing == when {
				stop()
			}
		}), context.Canceled)
	}
}
