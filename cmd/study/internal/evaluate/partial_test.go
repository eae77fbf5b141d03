package evaluate

import (
	"bytes"
	"context"
	"io"
	"os"
	"slices"
	"testing"

	"mrprism/cmd/study/internal/compare"
	"mrprism/cmd/study/internal/input"
	"mrprism/cmd/study/internal/studytest"
	"mrprism/internal/command"
	"mrprism/model"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/reference"

	"github.com/stretchr/testify/require"
)

// The report has the images that were scored, says that it is a part, and names the bad file.
func TestPartOfTheImages(t *testing.T) {
	dir, about := studytest.Synthesise(t)
	open := func(context.Context, func(string)) (gpu.Device, error) { return reference.Open(), nil }
	r := Request{Weights: studytest.WeightsFile(t, about, nil), Device: open, Precision: model.F32, Images: input.Images{Data: dir, Region: "none", On: "all"}}
	s, err := r.open()
	require.NoError(t, err)
	defer s.session.Close()
	none, err := r.open() // to score the missing image alone
	require.NoError(t, err)
	s.progress = command.NewProgress(io.Discard, 5)
	require.NoError(t, os.Remove(s.cases[2].Image))
	require.NoError(t, s.scoreAll(t.Context()))
	made, err := s.report()
	require.ErrorContains(t, err, s.cases[2].Image)
	require.Equal(t, []any{4, 5, 4}, []any{made.Images, made.Of, made.Classes[0]["images"]})
	var table bytes.Buffer
	require.NoError(t, made.Document().Print(&table))
	require.Contains(t, table.String(), "only 4 of 5 images were scored")
	s.cases = slices.Delete(s.cases, 2, 3)
	made, err = s.report()
	require.Error(t, err)
	require.Zero(t, made.Of)

	none.progress = command.NewProgress(io.Discard, 1)
	none.compared, err = compare.Of(compare.Request{Named: []compare.NamedMethod{{Session: &none.session}}, Watch: none.watch}, none.data, none.cases[2:3], compare.Mean, compare.Truth)
	require.NoError(t, err)
	require.ErrorContains(t, none.scoreAll(t.Context()), none.cases[2].Image, "nothing was scored")
}
