package graphs

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// example is a forest plot with everything in it.
func example() Forest {
	return Forest{
		Title: "a < b & c", Axis: "Dice, ×100", Below: "farther", Above: "closer", Numbers: "effect",
		Groups: []Group{
			{Name: "first — with intervals", Rows: []Row{{Name: "disc", Estimate: 1, Low: 0.5, High: 2}, {Name: "cup", Estimate: -1, Low: -3, High: 1, Open: true}}},
			{Name: "second", Rows: []Row{{Name: "cup", Estimate: 4, Low: math.NaN(), High: math.NaN()}}},
		},
	}
}

func TestForest(t *testing.T) {
	svg := written(t, example())
	assert.NotContains(t, svg, "NaN")
	assert.Contains(t, svg, "a &lt; b &amp; c")
	assert.Contains(t, svg, "farther")
	assert.Contains(t, svg, `font-weight="400">−1.0<`, "an interval that covers 0 has a thin number")
	assert.Contains(t, svg, `font-weight="600">+4.0<`)
	assert.Equal(t, svg, written(t, example()), "the same picture each time")
	for _, size := range regexp.MustCompile(`font-size="(\d+)"`).FindAllStringSubmatch(svg, -1) {
		n, err := strconv.Atoi(size[1])
		assert.NoError(t, err)
		assert.GreaterOrEqual(t, n, 11)
	}
}

// Effects lie where the axis says: the middle of two ticks is the place of their mean.
func TestForestPlaces(t *testing.T) {
	f := example()
	s := f.span()
	assert.Less(t, s.Low, -3.0)
	assert.Greater(t, s.High, 4.0)
	var out strings.Builder
	f.Groups[0].Rows[0].draw(&out, 100, func(v float64) float64 { return 10 * v })
	assert.Contains(t, out.String(), "M5.0 100.0H20.0")
	assert.Contains(t, out.String(), `cx="10.0"`)
}

func TestForestWithoutMuch(t *testing.T) {
	for _, f := range []Forest{{}, {Groups: []Group{{Rows: []Row{{}}}}}} {
		assert.NotContains(t, written(t, f), "NaN")
	}
}

func TestWrap(t *testing.T) {
	lines := wrap(strings.Repeat("word ", 60), 14)
	assert.Greater(t, len(lines), 3)
	for _, l := range lines {
		assert.LessOrEqual(t, len(l), 68)
	}
	assert.Empty(t, wrap("", 14))
}

func TestSigned(t *testing.T) {
	assert.Equal(t, "+0.5", difference(0.5))
	assert.Equal(t, "−3", signed(-3, "3"))
	assert.Equal(t, "0", signed(0, "0"))
	assert.Equal(t, "0.0", difference(-0.04), "no −0")
}
