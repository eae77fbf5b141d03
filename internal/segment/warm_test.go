package segment

import (
	"context"
	"strings"
	"testing"

	"mrprism/internal/gpu"
	"mrprism/internal/gpu/reference"
	"mrprism/internal/segment/segmenttest"
	"mrprism/model"
	"mrprism/weights"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// compiler keeps the names of the programs that a device has not been asked for before.
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

// What has been compiled while the weights arrived is all that the network needs; reading int8 is not of the network.
func TestWarm(t *testing.T) {
	m := open(t, segmenttest.Raters())
	about := m.Metadata
	d := &compiler{Device: reference.Open(), seen: map[*gpu.Program]bool{}}
	entry := weights.Entry{Configuration: about.Configuration, Raters: len(about.Raters), Classes: len(about.Classes), Side: about.Side}
	require.NoError(t, Warm(t.Context(), d, entry, model.F32))
	require.NotEmpty(t, d.new)
	d.new = nil
	engine(t, d, m)
	for _, name := range d.new {
		assert.True(t, strings.HasPrefix(name, "dequantize"), name)
	}
	entry.Configuration = "enormous"
	assert.Error(t, Warm(t.Context(), d, entry, model.F32))
}
