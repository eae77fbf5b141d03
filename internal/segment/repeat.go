package segment

import (
	"context"
	"fmt"
	"math"

	"mrprism/internal/files/imageio"
)

// Repeats are the standard deviations of figures over views of one photograph: turned, shifted and
// dimmed or brightened, as another photograph of the same visit may be. Lengths are in pixels.
type Repeats struct {
	Views           int        `json:"views"` // those in which all structures were found
	VerticalRatio   *float64   `json:"verticalRatio,omitempty"`
	HorizontalRatio *float64   `json:"horizontalRatio,omitempty"`
	Structures      []Repeated `json:"structures"` // in the order of the classes
}

// Repeated are the deviations of a structure's figures.
type Repeated struct {
	Area   float64 `json:"area"`
	Height float64 `json:"height"`
	Width  float64 `json:"width"`
}

// views are how a photograph is taken again: turned by degrees, shifted by shares of the region's
// side, in other light.
var views = []struct{ turn, right, down, light float64 }{
	{-6, .04, .02, .85}, {-4, -.04, .03, 1.15}, {-2, .02, -.04, .75}, {-1, -.02, -.02, 1.25},
	{1, .03, .04, 1.1}, {2, -.03, -.04, .9}, {4, .04, -.03, 1.2}, {6, -.04, .02, .8},
}

// A view shows viewed times the region's side, in viewSide² pixels.
const (
	viewed   = 1.6
	viewSide = 400
)

// Repeat segments views of a result's region. Figures differ between two photographs of one visit
// by 1.96·√2 of their deviations in 95 of 100 cases, if views differ as such photographs do (ISO
// 5725-6): photographs may differ more. An error says that fewer than four views show all
// structures.
func (e *Engine) Repeat(ctx context.Context, img *imageio.Image, r *Maps, o Options) (*Repeats, error) {
	watched := e.watched
	defer func() { e.watched = watched }() // views are no photographs of the camera
	side := int(viewed * float64(r.ROI.Side))
	base := make([]float32, 3*viewSide*viewSide)
	img.Crop(base, imageio.Square{X: r.ROI.X - (side-r.ROI.Side)/2, Y: r.ROI.Y - (side-r.ROI.Side)/2, Side: side}, viewSide)
	const region = int(viewSide / viewed)
	o.ROI = fmt.Sprintf("%d,%d,%d", (viewSide-region)/2, (viewSide-region)/2, region)
	scale := float64(side) / viewSide
	var all []Measurements
	for i, v := range views {
		o.Progress("repeat", i, len(views))
		taken := &imageio.Image{W: viewSide, H: viewSide, Pix: make([]uint8, len(base))}
		sin, cos := math.Sincos(v.turn * math.Pi / 180)
		for p := range viewSide * viewSide {
			x, y := float64(p%viewSide)-viewSide/2+.5-v.right*float64(region), float64(p/viewSide)-viewSide/2+.5-v.down*float64(region)
			for c := range 3 {
				value := between(base, cos*x-sin*y+viewSide/2-.5, sin*x+cos*y+viewSide/2-.5, c)
				taken.Pix[3*p+c] = uint8(min(255, 255*v.light*value+.5))
			}
		}
		seen, err := e.Segment(ctx, taken, o)
		if err != nil {
			return nil, err
		}
		found, ratio := true, seen.Measurements.VerticalRatio
		for _, s := range seen.Measurements.Structures {
			found = found && s.Area > 0
		}
		found = found && (ratio == nil || ratio.Value != nil && seen.Measurements.HorizontalRatio.Value != nil)
		if found {
			all = append(all, seen.Measurements)
		}
	}
	if len(all) < len(views)/2 {
		return nil, fmt.Errorf("%d of %d turned, shifted and dimmed views show all structures: too few to say how figures repeat", len(all), len(views))
	}
	deviation := func(of func(m Measurements) float64) float64 {
		mean, squares := 0., 0.
		for _, m := range all {
			mean += of(m) / float64(len(all))
		}
		for _, m := range all {
			squares += (of(m) - mean) * (of(m) - mean) / float64(len(all)-1)
		}
		return math.Sqrt(squares)
	}
	out := &Repeats{Views: len(all)}
	for c := range r.Classes {
		out.Structures = append(out.Structures, Repeated{
			Area:   scale * scale * deviation(func(m Measurements) float64 { return float64(m.Structures[c].Area) }),
			Height: scale * deviation(func(m Measurements) float64 { return float64(m.Structures[c].Height) }),
			Width:  scale * deviation(func(m Measurements) float64 { return float64(m.Structures[c].Width) }),
		})
	}
	if first := all[0]; first.VerticalRatio != nil {
		out.VerticalRatio = new(deviation(func(m Measurements) float64 { return *m.VerticalRatio.Value }))
		out.HorizontalRatio = new(deviation(func(m Measurements) float64 { return *m.HorizontalRatio.Value }))
	}
	return out, nil
}

// between is channel c of a view (viewSide, viewSide, 3) at x, y, interpolated linearly. Beyond the
// border the pixels at the border go on.
func between(p []float32, x, y float64, c int) float64 {
	x, y = max(0, min(viewSide-1, x)), max(0, min(viewSide-1, y))
	x0, y0 := int(min(viewSide-2, x)), int(min(viewSide-2, y))
	dx, dy := x-float64(x0), y-float64(y0)
	at := func(x, y int) float64 { return float64(p[3*(y*viewSide+x)+c]) }
	return (1-dy)*((1-dx)*at(x0, y0)+dx*at(x0+1, y0)) + dy*((1-dx)*at(x0, y0+1)+dx*at(x0+1, y0+1))
}
