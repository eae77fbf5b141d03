package train

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"mrprism/internal/data/dataset"
	"mrprism/shaders/gpu/reference"
	"mrprism/weights"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The verdict is better only if the gain's interval over groups is above 0, and never of few
// groups.
func TestVerdict(t *testing.T) {
	judge := func(groups int, gain func(i int) float64) *Judgement {
		var cases []dataset.Case
		var before, after []figures
		for i := range 2 * groups { // two images a group, by their name
			cases = append(cases, dataset.Case{Folder: fmt.Sprint(i % 2), Name: fmt.Sprintf("image%02d", i/2)})
			before, after = append(before, figures{0.5, 0.5}), append(after, figures{0.5 + gain(i/2), 0.7})
		}
		return judged(cases, before, after)
	}
	steady, mixed := func(int) float64 { return 0.1 }, func(i int) float64 { return 0.1 * float64(i%2*2-1) }
	for _, c := range []struct {
		groups int
		gain   func(int) float64
		better bool
		says   string
	}{
		{5, steady, true, "better by 0.100"},
		{4, steady, false, "own outline +0.200: too few to tell"},
		{20, mixed, false, "is not better (gain"},
		{6, func(int) float64 { return -0.1 }, false, "is not better (gain"},
		{0, steady, false, "nobody knows how good"},
	} {
		j := judge(c.groups, c.gain)
		assert.Equal(t, c.better, j.Better, j.Says)
		assert.Contains(t, j.Says, c.says)
		assert.Equal(t, c.groups, j.Groups)
		if c.groups > 0 {
			assert.InDelta(t, 0.2, j.Own.Mean, 1e-9)
		}
	}
}

// A model is not better than itself, and its card says what is known of it.
func TestJudgesAModelByItself(t *testing.T) {
	data, files := finished(t)
	o := options(t, data)
	model := filepath.Join(t.TempDir(), "model.safetensors")
	require.NoError(t, os.WriteFile(model, files[o.Name+smallSuffix], 0o644))
	trainer, err := New(t.Context(), reference.Open(), o, nil)
	require.NoError(t, err)
	defer trainer.Close()
	j, err := trainer.Judge(t.Context(), model, model)
	require.NoError(t, err)
	require.NotNil(t, j.Gain)
	assert.Zero(t, j.Gain.Mean)
	assert.NotNil(t, j.Own)
	assert.False(t, j.Better)
	assert.Len(t, j.Images, len(trainer.Dataset.HeldOut()))
	m, err := weights.Shipped().Open("", files[o.Name+smallSuffix])
	require.NoError(t, err)
	day := time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC)
	card := trainer.Card(&m.Metadata, j, day)
	for _, said := range []string{"| trained | 2026-11-27, 0 steps", "; 4 images trained on |", "| 1 of 5 images,", "too few to tell", "## Limits", "Too few images were held out"} {
		assert.Contains(t, card, said)
	}
	for _, card := range []string{card, trainer.Card(&m.Metadata, nil, day)} {
		_, err = weights.NewCard(card, m)
		assert.NoError(t, err, "it may ship")
	}
}
