package foreign

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"mrprism/internal/data/paint"
)

// area is the sum of a channel, in square units.
func (c *canvas) area() (sum float64) {
	for _, p := range c.pix {
		sum += p[0] / square(c.radius)
	}
	return sum
}

// TestAreas: the areas of shapes equal geometry's. Corners may go around in either direction.
func TestAreas(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for name, want := range map[string]struct {
		shape
		area float64
	}{
		"round":     {round(0.1, -0.2, 0.5), math.Pi * 0.25},
		"rectangle": {polygon([2]float64{-0.5, -0.25}, [2]float64{0.25, -0.25}, [2]float64{0.25, 0.3}, [2]float64{-0.5, 0.3}), 0.75 * 0.55},
		"triangle":  {polygon([2]float64{0, 0}, [2]float64{0, 0.6}, [2]float64{0.5, 0}), 0.15},
		"reversed":  {polygon([2]float64{0.5, 0}, [2]float64{0, 0.6}, [2]float64{0, 0}), 0.15},
		"line":      {line(-0.5, 0, 0.5, 0.1, 0.1), 0.1*math.Hypot(1, 0.1) + math.Pi*0.0025},
		"blot":      {(&canvas{Draws: paint.Draws{Rand: r}}).blot(0, 0, 0.4, 0, 1.3, 0.7), math.Pi * 0.16},
		"ring":      {round(0, 0, 0.5).band(0, 0.1), math.Pi * (square(0.55) - square(0.45))},
	} {
		c := newCanvas(200, 160)
		c.draw(want.shape, 0, solid(paint.Grey(1)))
		assert.InDelta(t, want.area, c.area(), 0.004, name)
	}
}

// TestBlur keeps the sum of a point in the middle and spreads it by the given deviation.
func TestBlur(t *testing.T) {
	c := newCanvas(101, 81)
	c.pix[40*101+50] = paint.Grey(1)
	c.blur(0.1)
	sum, squares := 0.0, 0.0
	for i, p := range c.pix {
		x, _ := c.point(float64(i%101), float64(i/101))
		sum, squares = sum+p[1], squares+p[1]*x*x
	}
	assert.InDelta(t, 1, sum, 1e-9)
	assert.InDelta(t, 0.1, math.Sqrt(squares), 0.01)
}
