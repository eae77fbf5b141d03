// Package picture draws outlines on photographs, and keeps the worst results' pictures.
package picture

import (
	"bytes"
	"encoding/base64"
	"html/template"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"math"
	"slices"

	"mrprism/internal/data/contour"
	"mrprism/internal/files/imageio"

	"golang.org/x/image/vector"
)

// Measures on the sheet's pictures, in their pixels.
const (
	Longest    = 220 // a picture's longer side
	ResultLine = 1.5 // width of the model's outline
	TruthLine  = 1   // width of the dashed outline
	shade      = 1   // added to the width of the dark line below each outline
	Dash, Hole = 4, 3
)

// Colours of the outlines. The page has the same colours for structures: they show on a fundus, on
// grey images, and to people who confuse red and green.
var (
	Structures = []color.RGBA{
		{63, 208, 255, 255}, {190, 245, 92, 255}, {245, 125, 183, 255}, {171, 154, 124, 255}, {106, 121, 255, 255}, {241, 218, 186, 255},
	}
	White  = color.RGBA{255, 255, 255, 255}
	shadow = color.RGBA{0, 0, 0, 120} // the picture shows through
)

// Point is a place in pixels.
type Point struct{ X, Y float64 }

// placing says where an image lies on a picture of the sheet: in a letterbox of longest pixels.
type placing struct {
	square imageio.Square // the letterbox, in pixels of the image
	scale  float64        // pixels of the picture for one pixel of the image
}

func NewPlacing(w, h int) placing {
	square := imageio.Letterbox(w, h)
	return placing{square, Longest / float64(square.Side)}
}

// Picture is an image at the size of the sheet. Its bounds lie in the image's letterbox.
type Picture struct {
	*image.RGBA
	placing
}

// NewPicture resamples the image to the sheet's size.
func NewPicture(img *imageio.Image) *Picture {
	p := &Picture{placing: NewPlacing(img.W, img.H)}
	values := make([]float32, 3*Longest*Longest)
	img.Crop(values, p.square, Longest)
	whole := image.NewRGBA(image.Rect(0, 0, Longest, Longest))
	for i := range Longest * Longest {
		for c := range 3 {
			whole.Pix[4*i+c] = uint8(255*values[3*i+c] + .5)
		}
		whole.Pix[4*i+3] = 255
	}
	from, to := p.place(0, 0), p.place(float64(img.W), float64(img.H))
	inside := image.Rect(int(from.X), int(from.Y), int(math.Ceil(to.X)), int(math.Ceil(to.Y)))
	p.RGBA = whole.SubImage(inside).(*image.RGBA)
	return p
}

// place converts a place of the image to a place of the picture.
func (p placing) place(x, y float64) Point {
	return Point{(x - float64(p.square.X)) * p.scale, (y - float64(p.square.Y)) * p.scale}
}

// Trace follows the outlines of the pixels above one half in a map (h, w) that begins at x, y of
// the image. Each outline is a closed line.
func (p placing) Trace(values []float32, w, h, x, y int) (loops [][]Point) {
	const tolerance = .2 // pixels of the picture
	lines := contour.Trace(values, w, h, math.Nextafter32(.5, 1), float32(tolerance/p.scale))
	for i, start := range lines.Starts {
		end := len(lines.Points) / 2
		if i+1 < len(lines.Starts) {
			end = int(lines.Starts[i+1])
		}
		var loop []Point
		for j := int(start); j < end; j++ {
			loop = append(loop, p.place(float64(lines.Points[2*j])+float64(x), float64(lines.Points[2*j+1])+float64(y)))
		}
		loops = append(loops, loop)
	}
	return loops
}

// Circle is the outline of a circle of radius r about x, y, in pixels of the image.
func (p *Picture) Circle(x, y, r float64) (loop []Point) {
	const corners = 72
	for i := range corners {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / corners)
		loop = append(loop, p.place(x+r*cos, y+r*sin))
	}
	return loop
}

// Result draws the model's outline of a class.
func (p *Picture) Result(class int, loops [][]Point) {
	Shaded(p.RGBA, Whole(loops), ResultLine, Structures[class%len(Structures)])
}

// Truth draws the dashed outline of the raters' majority or of the CSV's circle.
func (p *Picture) Truth(loops [][]Point) { Shaded(p.RGBA, dashed(loops), TruthLine, White) }

// Piece is a straight line.
type Piece struct{ From, To Point }

// Whole cuts closed lines into pieces.
func Whole(loops [][]Point) (pieces []Piece) {
	for _, loop := range loops {
		for i, from := range loop {
			pieces = append(pieces, Piece{from, loop[(i+1)%len(loop)]})
		}
	}
	return pieces
}

// dashed cuts closed lines into pieces with holes. A line has a whole number of dashes. A line that
// is too short for two dashes has no hole.
func dashed(loops [][]Point) (pieces []Piece) {
	for _, loop := range loops {
		sides, length := Whole([][]Point{loop}), 0.
		for _, s := range sides {
			length += s.length()
		}
		n := math.Round(length / (Dash + Hole))
		if n < 2 {
			pieces = append(pieces, sides...)
			continue
		}
		pieces = append(pieces, Every(sides, length/n)...)
	}
	return pieces
}

// Every keeps the dash of each period along the sides.
func Every(sides []Piece, period float64) (pieces []Piece) {
	share, at := period*Dash/(Dash+Hole), 0. // at is the way since the period began
	for _, s := range sides {
		length := s.length()
		for done := 0.; done < length; {
			end := share
			if at >= share {
				end = period
			}
			step := min(end-at, length-done)
			if at < share {
				pieces = append(pieces, Piece{s.at(done / length), s.at((done + step) / length)})
			}
			done += step
			if at += step; at >= period {
				at = 0
			}
		}
	}
	return pieces
}

func (p Piece) length() float64 { return math.Hypot(p.To.X-p.From.X, p.To.Y-p.From.Y) }

// at is the place at a share of the way.
func (p Piece) at(share float64) Point {
	return Point{p.From.X + share*(p.To.X-p.From.X), p.From.Y + share*(p.To.Y-p.From.Y)}
}

// Shaded strokes pieces over a wider dark line, which makes them visible on bright ground.
func Shaded(on *image.RGBA, pieces []Piece, width float64, ink color.RGBA) {
	Stroke(on, pieces, width+shade, shadow)
	Stroke(on, pieces, width, ink)
}

// Stroke draws pieces with soft edges. Each piece is a rectangle that reaches half a width beyond
// its ends, to close the joints.
func Stroke(on *image.RGBA, pieces []Piece, width float64, ink color.RGBA) {
	b := on.Bounds()
	shape := vector.NewRasterizer(b.Dx(), b.Dy())
	for _, p := range pieces {
		scale := width / 2 / p.length()
		dx, dy := (p.To.X-p.From.X)*scale, (p.To.Y-p.From.Y)*scale
		corner := func(at Point, along, across float64, draw func(x, y float32)) {
			draw(float32(at.X+along*dx-across*dy-float64(b.Min.X)), float32(at.Y+along*dy+across*dx-float64(b.Min.Y)))
		}
		corner(p.From, -1, -1, shape.MoveTo)
		corner(p.To, 1, -1, shape.LineTo)
		corner(p.To, 1, 1, shape.LineTo)
		corner(p.From, -1, 1, shape.LineTo)
		shape.ClosePath()
	}
	shape.Draw(on, b, image.NewUniform(ink), image.Point{})
}

// raterColours are the colours of the outlines of raters; they repeat from the thirteenth on.
var raterColours = slices.Concat(Structures, []color.RGBA{
	{255, 255, 255, 255}, {255, 120, 80, 255}, {90, 150, 255, 255}, {60, 190, 60, 255}, {220, 90, 220, 255}, {200, 160, 110, 255},
})

// RaterColour is the colour of a rater's outlines.
func RaterColour(m int) color.RGBA { return raterColours[m%len(raterColours)] }

// Copy is the picture with pixels of its own.
func (p *Picture) Copy() *Picture {
	twin := *p
	twin.RGBA = image.NewRGBA(p.Rect)
	draw.Draw(twin.RGBA, p.Rect, p.RGBA, p.Rect.Min, draw.Src)
	return &twin
}

// Quality is that of JPEG pictures.
const Quality = 80

// Embedded is the picture as a JPEG in a data URI.
func Embedded(p *image.RGBA) (template.URL, error) {
	var data bytes.Buffer
	if err := jpeg.Encode(&data, p, &jpeg.Options{Quality: Quality}); err != nil {
		return "", err
	}
	return template.URL("data:image/jpeg;base64," + base64.StdEncoding.EncodeToString(data.Bytes())), nil
}
