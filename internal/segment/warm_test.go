package segment

import (
	"context"
	"strings"
	"testing"

	"mrprism/internal/files/imageio"
	"mrprism/internal/segment/segmenttest"
	"mrprism/model"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/reference"
	"mrprism/weights"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// compiler keeps the names of the programs that a device prepares for the first time.
type compiler struct {
	gpu.Device
	seen map[*gpu.Program]bool
	new  []string
}

func (c *compiler) Prepare(ctx context.Context, programs []*gpu.Program) error {
	for _, p := range programs {
		if !c.seen[p] {
			c.seen[p] = true
			c.new = append(c.new, p.Name)
		}
	}
	return c.Device.Prepare(ctx, programs)
}

// Warm compiles all programs of the network, in any precision. The program that reads int8 weights
// is not one of them.
func TestWarm(t *testing.T) {
	m := open(t, segmenttest.Raters())
	about := m.Metadata
	entry := weights.Entry{Configuration: about.Configuration, Raters: len(about.Raters), Classes: len(about.Classes), Side: about.Side}
	images := []*imageio.Image{photograph(80, 60), nil}
	var err error
	m.Metadata.Ranges, err = Ranges(t.Context(), reference.Open(), m, func() (*imageio.Image, error) {
		next := images[0]
		images = images[1:]
		return next, nil
	})
	require.NoError(t, err)
	for _, precision := range []model.Precision{model.F32, model.Int8} {
		d := &compiler{Device: reference.Open(), seen: map[*gpu.Program]bool{}}
		require.NoError(t, Warm(t.Context(), d, entry, precision))
		require.NotEmpty(t, d.new)
		d.new = nil
		e, err := New(t.Context(), d, m, precision)
		require.NoError(t, err)
		e.Close()
		for _, name := range d.new {
			assert.True(t, strings.HasPrefix(name, "dequantize"), "%s: %s", precision, name)
		}
	}
	entry.Configuration = "enormous"
	assert.Error(t, Warm(t.Context(), reference.Open(), entry, model.F32))
}
