package graphs

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// Grid is a table of differences whose cells are coloured: blue where a difference is above 0,
// orange below. Who does not see the colours reads the signs.
type Grid struct {
	Title, Caption string
	Columns        []string
	Groups         []GridGroup
	Limit          float64 // a difference as large as this, or larger, has the full colour
}

// GridGroup is rows under one heading.
type GridGroup struct {
	Name string
	Rows []GridRow
}

// GridRow is a row's cells, one for each column.
type GridRow struct {
	Name  string
	Cells []GridCell
}

// GridCell is a difference; NaN leaves the cell empty.
type GridCell struct {
	Value float64
	Bold  bool
}

// Measures of a grid in pixels.
const (
	gridLeft  = 116 // of the first column
	gridCell  = 46
	gridRow   = 20
	gridSlant = 0.77 // of a letter's width, above the cells, where headings are slanted
)

// The full colours, in red, green and blue.
var (
	gridAbove = [3]float64{33, 102, 172}
	gridBelow = [3]float64{179, 88, 6}
)

// Write writes the picture.
func (g Grid) Write(w io.Writer) error {
	longest := 0
	for _, name := range g.Columns {
		longest = max(longest, len([]rune(name)))
	}
	overhang := int(gridSlant * 6.6 * float64(longest))
	width := gridLeft + gridCell*len(g.Columns) + max(forestMargin, overhang-gridCell/2)
	var body strings.Builder
	text(&body, forestMargin, 32, "#111", `font-size="18" font-weight="600"`, g.Title)
	y := 44 + overhang
	for i, name := range g.Columns {
		x := gridLeft + gridCell*i + gridCell/2
		text(&body, x, y-6, "#222", fmt.Sprintf(`font-size="12" transform="rotate(-45 %d %d)"`, x, y-6), name)
	}
	for _, group := range g.Groups {
		y += gridRow + 6
		text(&body, forestMargin, y-6, "#222", `font-weight="600"`, group.Name)
		for _, r := range group.Rows {
			text(&body, forestMargin, y+14, "#222", "", r.Name)
			for i, c := range r.Cells {
				c.draw(&body, gridLeft+gridCell*i, y, g.Limit)
			}
			y += gridRow
		}
	}
	y += 14
	for _, line := range wrap(g.Caption, 14*forestWidth/float64(width)) {
		y += 19
		text(&body, forestMargin, y-6, "#555", "", line)
	}
	return framed(w, width, y+10, g.Title, body.String())
}

// draw draws the cell whose upper left corner is at x, y.
func (c GridCell) draw(out *strings.Builder, x, y int, limit float64) {
	if math.IsNaN(c.Value) {
		return
	}
	share, full := min(math.Abs(c.Value)/limit, 1), gridAbove
	if c.Value < 0 {
		full = gridBelow
	}
	var colour [3]int
	for i := range colour {
		colour[i] = int(math.Round(255 + share*(full[i]-255)))
	}
	ink, weight := "#222", 400
	if share > 0.6 {
		ink = "#fff"
	}
	if c.Bold {
		weight = 700
	}
	fmt.Fprintf(out, `<rect x="%d" y="%d" width="%d" height="%d" fill="#%02x%02x%02x"/>`+"\n", x+1, y+1, gridCell-2, gridRow-2, colour[0], colour[1], colour[2])
	text(out, x+gridCell/2, y+14, ink, fmt.Sprintf(`font-size="12" text-anchor="middle" font-weight="%d"`, weight), difference(c.Value))
}
