package main

import (
	"image"
	"image/color"
	"math"

	"mrprism/internal/data/contour"
	"mrprism/internal/files/imageio"

	"golang.org/x/image/vector"
)

// Measures on the sheet's pictures, in their pixels.
const (
	longest    = 220 // a picture's longer side
	resultLine = 1.5 // width of the model's outline
	truthLine  = 1   // width of the dashed outline
	shade      = 1   // added to the width of the dark line below each outline
	dash, hole = 4, 3
)

// Colours of the outlines. The page has the same colours for structures: they show on a fundus, on
// grey images, and to people who confuse red and green.
var (
	structures = []color.RGBA{
		{63, 208, 255, 255}, {190, 245, 92, 255}, {245, 125, 183, 255}, {171, 154, 124, 255}, {106, 121, 255, 255}, {241, 218, 186, 255},
	}
	white  = color.RGBA{255, 255, 255, 255}
	shadow = color.RGBA{0, 0, 0, 120} // the picture shows through
)

// point is a place in pixels.
type point struct{ x, y float64 }

// placing says where an image lies on a picture of the sheet: in a letterbox of longest pixels.
type placing struct {
	square imageio.Square // the letterbox, in pixels of the image
	scale  float64        // pixels of the picture for one pixel of the image
}

func newPlacing(w, h int) placing {
	square := imageio.Letterbox(w, h)
	return placing{square, longest / float64(square.Side)}
}

// picture is an image at the size of the sheet. Its bounds lie in the image's letterbox.
type picture struct {
	*image.RGBA
	placing
}

// newPicture resamples the image to the sheet's size.
func newPicture(img *imageio.Image) *picture {
	p := &picture{placing: newPlacing(img.W, img.H)}
	values := make([]float32, 3*longest*longest)
	img.Crop(values, p.square, longest)
	whole := image.NewRGBA(image.Rect(0, 0, longest, longest))
	for i := range longest * longest {
		for c := range 3 {
			whole.Pix[4*i+c] = uint8(255*values[3*i+c] + .5)
		}
		whole.Pix[4*i+3] = 255
	}
	from, to := p.place(0, 0), p.place(float64(img.W), float64(img.H))
	inside := image.Rect(int(from.x), int(from.y), int(math.Ceil(to.x)), int(math.Ceil(to.y)))
	p.RGBA = whole.SubImage(inside).(*image.RGBA)
	return p
}

// place converts a place of the image to a place of the picture.
func (p placing) place(x, y float64) point {
	return point{(x - float64(p.square.X)) * p.scale, (y - float64(p.square.Y)) * p.scale}
}

// trace follows the outlines of the pixels above one half in a map (h, w) that begins at x, y of
// the image. Each outline is a closed line.
func (p placing) trace(values []float32, w, h, x, y int) (loops [][]point) {
	const tolerance = .2 // pixels of the picture
	lines := contour.Trace(values, w, h, math.Nextafter32(.5, 1), float32(tolerance/p.scale))
	for i, start := range lines.Starts {
		end := len(lines.Points) / 2
		if i+1 < len(lines.Starts) {
			end = int(lines.Starts[i+1])
		}
		var loop []point
		for j := int(start); j < end; j++ {
			loop = append(loop, p.place(float64(lines.Points[2*j])+float64(x), float64(lines.Points[2*j+1])+float64(y)))
		}
		loops = append(loops, loop)
	}
	return loops
}

// circle is the outline of a circle of radius r about x, y, in pixels of the image.
func (p *picture) circle(x, y, r float64) (loop []point) {
	const corners = 72
	for i := range corners {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / corners)
		loop = append(loop, p.place(x+r*cos, y+r*sin))
	}
	return loop
}

// result draws the model's outline of a class.
func (p *picture) result(class int, loops [][]point) {
	shaded(p.RGBA, whole(loops), resultLine, structures[class%len(structures)])
}

// truth draws the dashed outline of the raters' majority or of the CSV's circle.
func (p *picture) truth(loops [][]point) { shaded(p.RGBA, dashed(loops), truthLine, white) }

// piece is a straight line.
type piece struct{ from, to point }

// whole cuts closed lines into pieces.
func whole(loops [][]point) (pieces []piece) {
	for _, loop := range loops {
		for i, from := range loop {
			pieces = append(pieces, piece{from, loop[(i+1)%len(loop)]})
		}
	}
	return pieces
}

// dashed cuts closed lines into pieces with holes. A line has a whole number of dashes. A line that
// is too short for two dashes has no hole.
func dashed(loops [][]point) (pieces []piece) {
	for _, loop := range loops {
		sides, length := whole([][]point{loop}), 0.
		for _, s := range sides {
			length += s.length()
		}
		n := math.Round(length / (dash + hole))
		if n < 2 {
			pieces = append(pieces, sides...)
			continue
		}
		pieces = append(pieces, every(sides, length/n)...)
	}
	return pieces
}

// every keeps the dash of each period along the sides.
func every(sides []piece, period float64) (pieces []piece) {
	share, at := period*dash/(dash+hole), 0. // at is the way since the period began
	for _, s := range sides {
		length := s.length()
		for done := 0.; done < length; {
			end := share
			if at >= share {
				end = period
			}
			step := min(end-at, length-done)
			if at < share {
				pieces = append(pieces, piece{s.at(done / length), s.at((done + step) / length)})
			}
			done += step
			if at += step; at >= period {
				at = 0
			}
		}
	}
	return pieces
}

func (p piece) length() float64 { return math.Hypot(p.to.x-p.from.x, p.to.y-p.from.y) }

// at is the place at a share of the way.
func (p piece) at(share float64) point {
	return point{p.from.x + share*(p.to.x-p.from.x), p.from.y + share*(p.to.y-p.from.y)}
}

// shaded strokes pieces over a wider dark line, which makes them visible on bright ground.
func shaded(on *image.RGBA, pieces []piece, width float64, ink color.RGBA) {
	stroke(on, pieces, width+shade, shadow)
	stroke(on, pieces, width, ink)
}

// stroke draws pieces with soft edges. Each piece is a rectangle that reaches half a width beyond
// its ends, to close the joints.
func stroke(on *image.RGBA, pieces []piece, width float64, ink color.RGBA) {
	b := on.Bounds()
	shape := vector.NewRasterizer(b.Dx(), b.Dy())
	for _, p := range pieces {
		scale := width / 2 / p.length()
		dx, dy := (p.to.x-p.from.x)*scale, (p.to.y-p.from.y)*scale
		corner := func(at point, along, across float64, draw func(x, y float32)) {
			draw(float32(at.x+along*dx-across*dy-float64(b.Min.X)), float32(at.y+along*dy+across*dx-float64(b.Min.Y)))
		}
		corner(p.from, -1, -1, shape.MoveTo)
		corner(p.to, 1, -1, shape.LineTo)
		corner(p.to, 1, 1, shape.LineTo)
		corner(p.from, -1, 1, shape.LineTo)
		shape.ClosePath()
	}
	shape.Draw(on, b, image.NewUniform(ink), image.Point{})
}
