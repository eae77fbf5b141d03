package compare

import (
	"bytes"
	"image"
	"image/png"
	"testing"

	"mrprism/cmd/study/internal/metrics"
	"mrprism/internal/data/metric"

	"github.com/stretchr/testify/require"
)

func encoded(t *testing.T, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, m))
	return b.Bytes()
}

// What a map states of itself, by hand.
func TestStatedDice(t *testing.T) {
	require.InDelta(t, 2*2.5/(3+2.5), statedDice([]float32{1, .75, .75, 0, 0, 0}), 1e-12)
	require.Equal(t, 1., statedDice(make([]float32, 4)))
	require.Zero(t, statedDice([]float32{.5, 0}))
}

// A method leads where its differences over several runs are clear of 0. One run leads no other.
func TestLead(t *testing.T) {
	clear := func(runs int) []*metrics.Estimate {
		return []*metrics.Estimate{{Interval: metric.Interval{Mean: 2, Low: new(1.), High: new(3.)}, Runs: runs}}
	}
	c := classComparison{leads: []lead{{"soft_dice", "ours", clear(3)}, {"dice", "ours", clear(1)}, {"iou", "ours", []*metrics.Estimate{{Runs: 2}}}}}
	c.lead()
	require.Equal(t, map[string]string{"soft_dice": "ours"}, c.Best)
}
