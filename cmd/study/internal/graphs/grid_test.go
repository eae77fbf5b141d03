package graphs

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A cell's colour grows with its difference up to the limit, its number is readable on it, and a
// missing figure leaves it empty.
func TestGrid(t *testing.T) {
	svg := written(t, Grid{
		Title: "Gains & losses", Caption: "soft Dice", Columns: []string{"disc", "cup"}, Limit: 10,
		Groups: []GridGroup{{Name: "rivals", Rows: []GridRow{
			{Name: "cl", Cells: []GridCell{{Value: 25, Bold: true}, {Value: -1}}},
			{Name: "cm", Cells: []GridCell{{Value: math.NaN()}, {Value: 0}}},
		}}},
	})
	assert.Contains(t, svg, "<title>Gains &amp; losses</title>")
	assert.Contains(t, svg, `fill="#2166ac"`, "beyond the limit: the full blue")
	assert.Contains(t, svg, `fill="#fff" font-size="12" text-anchor="middle" font-weight="700">+25.0<`)
	assert.Contains(t, svg, `fill="#f7eee6"`, "a tenth of the orange")
	assert.Contains(t, svg, `fill="#222" font-size="12" text-anchor="middle" font-weight="400">−1.0<`)
	assert.Contains(t, svg, `fill="#ffffff"`)
	assert.NotContains(t, svg, "NaN")
	assert.Contains(t, svg, ">rivals<")
	assert.Contains(t, svg, "rotate(-45")
}
