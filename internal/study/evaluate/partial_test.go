package evaluate

import (
	"bytes"
	"context"
	"io"
	"os"
	"testing"

	"mrprism/internal/command"
	"mrprism/internal/data/dataset"
	"mrprism/internal/study/score"
	"mrprism/internal/study/studytest"
	"mrprism/model"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/reference"

	"github.com/stretchr/testify/require"
)

// The report has the images that were scored before one failed or the user stopped, and says that
// it is a part.
func TestPartOfTheImages(t *testing.T) {
	dir, about := studytest.Synthesise(t)
	m, err := command.Weights(studytest.WeightsFile(t, about, nil))
	require.NoError(t, err)
	data, err := dataset.Open(dir)
	require.NoError(t, err)
	open := func(context.Context, func(string)) (gpu.Device, error) { return reference.Open(), nil }
	s := &scorer{Request: Request{Images: score.Images{Region: "none", On: "all"}}, data: data, progress: command.NewProgress(io.Discard, 5), session: command.Session{Model: m, Precision: model.F32, Open: open}}
	defer s.session.Close()
	require.NoError(t, os.Remove(data.Cases[2].Image))
	require.ErrorContains(t, s.scoreAll(t.Context(), data.Cases), data.Cases[2].Image)
	r := s.report(&input{cases: data.Cases})
	require.Equal(t, []int{2, 5, 2}, []int{r.Images, r.Of, r.Classes[0].Images})
	var table bytes.Buffer
	require.NoError(t, r.Table(&table))
	require.Contains(t, table.String(), "stopped before all 5 images were scored")
	require.Zero(t, s.report(&input{cases: data.Cases[:2]}).Of)
}
