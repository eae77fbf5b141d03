package chart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// written is the picture, which must be whole XML.
func written(t *testing.T, c interface{ Write(io.Writer) error }) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, c.Write(&out))
	for d := xml.NewDecoder(bytes.NewReader(out.Bytes())); ; {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return out.String()
		}
		require.NoError(t, err)
	}
}

// Any number of points makes a picture of bounded size, in which nothing is "NaN".
func TestManyPoints(t *testing.T) {
	var x, y []float64
	for i := range 100_000 {
		x, y = append(x, float64(i)), append(y, 1+math.Sin(float64(i)))
	}
	y[5], y[6] = math.NaN(), math.Inf(1)
	svg := written(t, Chart{Title: "a < b & c", X: "step", Panels: []Panel{{Title: "loss", Lines: []Line{{Name: "all", X: x, Y: y, Band: true}}}}})
	assert.Less(t, len(svg), 40_000)
	assert.NotContains(t, svg, "NaN")
	assert.NotContains(t, svg, "Inf")
	assert.Contains(t, svg, "a &lt; b &amp; c")
}

func TestFewPoints(t *testing.T) {
	for _, line := range []Line{{}, {X: []float64{1}, Y: []float64{3}}, {X: []float64{1, 2}, Y: []float64{0, 0}, Dots: true}} {
		svg := written(t, Chart{Panels: []Panel{{Lines: []Line{line}}}})
		assert.NotContains(t, svg, "NaN")
		assert.NotContains(t, svg, "Inf")
		assert.Equal(t, len(line.X), strings.Count(svg, "<circle "), "points that no line joins are dots")
	}
}

func TestPlaces(t *testing.T) {
	l := Line{X: []float64{0, 0, 10}, Y: []float64{1, 3, 7}}
	assert.Equal(t, []place{{0, 2, 1, 3}, {10, 7, 7, 7}}, l.places(Interval{0, 10}))
}

func TestTicks(t *testing.T) {
	assert.InDeltaSlice(t, []float64{0, 0.2, 0.4, 0.6, 0.8, 1}, Ticks(Interval{0, 1}, 5), 1e-12)
	assert.InDeltaSlice(t, []float64{200, 400, 600, 800, 1000}, Ticks(Interval{1, 1100}, 8), 1e-9)
	assert.Equal(t, "0.3", Number(0.1+0.2))
	assert.Equal(t, "2e-05", Number(2e-5))
}

// Names at the ends of lines do not cover one another and stay inside the frame.
func TestSpread(t *testing.T) {
	labels := spread([]label{{y: 99}, {y: 98}, {y: 97}, {y: 0}}, 0, 100)
	for i := range labels {
		assert.GreaterOrEqual(t, labels[i].y, 0.0)
		assert.LessOrEqual(t, labels[i].y, 100.0)
		if i > 0 {
			assert.GreaterOrEqual(t, labels[i].y-labels[i-1].y, 15.0)
		}
	}
}
