//go:build !js

package shipped

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/weights"
)

// TestOpenEveryModel opens what the manifest lists, and reads its card.
func TestOpenEveryModel(t *testing.T) {
	for _, entry := range weights.Shipped().Models {
		model, err := weights.Load(entry.Name)
		require.NoError(t, err, entry.Name)
		assert.True(t, model.Shipped)
		card, err := File(entry.Card)
		require.NoError(t, err)
		assert.NotEmpty(t, card)
	}
	_, err := weights.Load("no-such-model")
	assert.ErrorContains(t, err, "no-such-model")
	_, err = File("shipped.go")
	assert.Error(t, err, "sources are not embedded")
}
