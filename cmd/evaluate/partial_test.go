package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"testing"

	"mrprism/internal/command"
	"mrprism/internal/data/dataset"
	"mrprism/model"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/reference"

	"github.com/stretchr/testify/require"
)

// If the data has other raters than the model, heads are not compared with them. A note says it.
func TestStrangers(t *testing.T) {
	dir, about := synthesise(t)
	about.Raters[0], about.Raters[1] = about.Raters[1], about.Raters[0]
	code, stdout, stderr := call(t, "-weights", weightsFile(t, about, nil), "-data", dir, "-device", "processor", "-recurrences", "0")
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, "of raters "+about.Raters[0]+", "+about.Raters[1])
	require.Contains(t, stderr, "is left out")
	require.NotContains(t, stdout, "each head")
}

// The report has the images that were scored before one failed or the user stopped, and says that
// it is a part.
func TestPartOfTheImages(t *testing.T) {
	dir, about := synthesise(t)
	m, err := command.Weights(weightsFile(t, about, nil))
	require.NoError(t, err)
	data, err := dataset.Open(dir)
	require.NoError(t, err)
	open := func(context.Context, func(string)) (gpu.Device, error) { return reference.Open(), nil }
	s := &scorer{request: request{sources: sources{region: "none", on: "all"}}, data: data, progress: command.NewProgress(io.Discard, 5), session: command.Session{Model: m, Precision: model.F32, Open: open}}
	defer s.session.Close()
	require.NoError(t, os.Remove(data.Cases[2].Image))
	require.ErrorContains(t, s.scoreAll(t.Context(), data.Cases), data.Cases[2].Image)
	r := s.report(&input{cases: data.Cases})
	require.Equal(t, []int{2, 5, 2}, []int{r.Images, r.Of, r.Classes[0].Images})
	var table bytes.Buffer
	require.NoError(t, r.table(&table))
	require.Contains(t, table.String(), "stopped before all 5 images were scored")
	require.Zero(t, s.report(&input{cases: data.Cases[:2]}).Of)
}
