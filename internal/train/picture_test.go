package train

import (
	"testing"

	"mrprism/shaders/gpu/reference"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Pictures come evenly over the run, show the network's input and masks, and do not change the run.
func TestPictures(t *testing.T) {
	data, files := finished(t)
	o := options(t, data)
	o.CheckpointSeconds, o.Pictures = 0, 2
	trainer, err := New(t.Context(), reference.Open(), o, nil)
	require.NoError(t, err)
	defer trainer.Close()
	var at []int
	require.NoError(t, trainer.Run(t.Context(), func(r Report) {
		assert.Equal(t, 2, r.Images)
		assert.Positive(t, r.DeviceSeconds)
		assert.Less(t, r.DeviceSeconds+r.DataSeconds, r.Seconds)
		p := r.Picture
		if p == nil {
			return
		}
		at = append(at, r.Step)
		assert.Regexp(t, `^synthetic-pair/case000\d$`, p.Name)
		require.Equal(t, []int{64, 2}, []int{p.Side, p.Classes})
		require.Len(t, p.Image, 64*64*3)
		require.Len(t, p.Votes, 64*64*2)
		require.Len(t, p.Masks, trainer.Options.Recipe.Recurrences)
		values := map[float32]bool{}
		for _, v := range p.Votes {
			values[v] = true
		}
		assert.Subset(t, map[float32]bool{0: true, 0.5: true, 1: true}, values, "votes of two raters")
		assert.True(t, values[1], "the disc is somewhere")
		for _, maps := range append(p.Masks, p.Image) {
			for _, v := range maps {
				require.True(t, v >= 0 && v <= 1, v)
			}
		}
		require.NotEqual(t, p.Masks[0], p.Masks[1])
	}))
	assert.Equal(t, []int{1, 3}, at)
	require.True(t, string(results(t, o.Out)[Checkpoint]) == string(files[Checkpoint]))
}
