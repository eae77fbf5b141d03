package main

import (
	"image"
	"image/color"
	"math"

	"mrprism/internal/imageio"
	"mrprism/wasm/overlay"
)

// Measures on the sheet's pictures, in their pixels.
const (
	longest    = 220 // a picture's longer side
	resultLine = 1.5 // width of the model's outline
	truthLine  = 1
	shade      = 1 // how much wider the dark line below each is
	dash, hole = 4, 3
)

// Colours of the outlines. The page has the same for structures: they show on a fundus, on grey
// images, and to people who confuse red and green.
var (
	structures = []color.RGBA{
		{63, 208, 255, 255}, {190, 245, 92, 255}, {255, 138, 216, 255}, {255, 214, 92, 255}, {170, 160, 255, 255}, {120, 240, 200, 255},
	}
	white  = color.RGBA{255, 255, 255, 255}
	shadow = color.RGBA{0, 0, 0, 120} // lets the picture through
)

// structureColour is the colour of a class.
func structureColour(class int) color.RGBA { return structures[class%len(structures)] }

// point is a place in pixels.
type point struct{ x, y float64 }

// picture is an image at the size of the sheet. Its bounds lie in the image's letterbox, which has
// longest² pixels.
type picture struct {
	*image.RGBA
	square imageio.Square // the letterbox, in pixels of the image
	scale  float64        // pixels of the picture to one of the image
}

// newPicture brings the image to the sheet's size by imageio's rule.
func newPicture(img *imageio.Image) *picture {
	p := &picture{square: imageio.Letterbox(img.W, img.H)}
	p.scale = longest / float64(p.square.Side)
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

// place is where a place of the image lies on the picture.
func (p *picture) place(x, y float64) point {
	return point{(x - float64(p.square.X)) * p.scale, (y - float64(p.square.Y)) * p.scale}
}

// trace follows the outlines of what lies above one half in a map (h, w) that begins at x, y of the
// image. Each is a closed line.
func (p *picture) trace(values []float32, w, h, x, y int) (loops [][]point) {
	const tolerance = .2 // pixels of the picture
	lines := overlay.Trace(values, w, h, math.Nextafter32(.5, 1), float32(tolerance/p.scale))
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

// circle is the outline of a circle in pixels of the image.
func (p *picture) circle(c circle) (loop []point) {
	const corners = 72
	for i := range corners {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / corners)
		loop = append(loop, p.place(c.x+c.r*cos, c.y+c.r*sin))
	}
	return loop
}

// result draws the model's outline of a class.
func (p *picture) result(class int, loops [][]point) {
	shaded(p.RGBA, whole(loops), resultLine, structureColour(class))
}

// truth draws the outline that somebody knows.
func (p *picture) truth(loops [][]point) { shaded(p.RGBA, dashed(loops), truthLine, white) }

// piece is a straight line.
type piece struct{ from, to point }

// whole is closed lines in pieces.
func whole(loops [][]point) (pieces []piece) {
	for _, loop := range loops {
		for i, from := range loop {
			pieces = append(pieces, piece{from, loop[(i+1)%len(loop)]})
		}
	}
	return pieces
}

// dashed is closed lines in pieces with holes. A line has a whole number of dashes. Lines too short
// for two are whole.
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

// every keeps of each period along the sides the share that is dash.
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

// bounds are the pixels that lie within reach of the piece, and some more.
func (p piece) bounds(reach float64) image.Rectangle {
	low := point{min(p.from.x, p.to.x) - reach, min(p.from.y, p.to.y) - reach}
	high := point{max(p.from.x, p.to.x) + reach, max(p.from.y, p.to.y) + reach}
	return image.Rect(int(math.Floor(low.x)), int(math.Floor(low.y)), int(math.Ceil(high.x)), int(math.Ceil(high.y)))
}

// distance is that of a place from the piece.
func (p piece) distance(x, y float64) float64 {
	dx, dy := p.to.x-p.from.x, p.to.y-p.from.y
	share := 0.
	if square := dx*dx + dy*dy; square > 0 {
		share = max(0, min(1, ((x-p.from.x)*dx+(y-p.from.y)*dy)/square))
	}
	near := p.at(share)
	return math.Hypot(x-near.x, y-near.y)
}

// shaded strokes pieces over a wider dark line, which lets them show on bright ground.
func shaded(on *image.RGBA, pieces []piece, width float64, ink color.RGBA) {
	stroke(on, pieces, width+shade, shadow)
	stroke(on, pieces, width, ink)
}

// stroke draws pieces with soft edges. Where pieces meet or cross, a pixel has the ink once.
func stroke(on *image.RGBA, pieces []piece, width float64, ink color.RGBA) {
	b := on.Bounds()
	cover := make([]float64, b.Dx()*b.Dy()) // the share of ink, by pixel
	reach := width/2 + .5
	for _, p := range pieces {
		near := p.bounds(reach).Intersect(b)
		for y := near.Min.Y; y < near.Max.Y; y++ {
			for x := near.Min.X; x < near.Max.X; x++ {
				c := &cover[(y-b.Min.Y)*b.Dx()+x-b.Min.X]
				*c = max(*c, min(1, reach-p.distance(float64(x)+.5, float64(y)+.5)))
			}
		}
	}
	for i, c := range cover {
		if c > 0 {
			blend(on.Pix[on.PixOffset(b.Min.X+i%b.Dx(), b.Min.Y+i/b.Dx()):], ink, c)
		}
	}
}

// blend lays a share of ink over a pixel.
func blend(pixel []uint8, ink color.RGBA, share float64) {
	share *= float64(ink.A) / 255
	for c, v := range [3]uint8{ink.R, ink.G, ink.B} {
		pixel[c] = uint8(float64(pixel[c])*(1-share) + float64(v)*share + .5)
	}
}
