// Package picture draws outlines on photographs, and keeps the worst results' pictures.
package picture

import (
	"bytes"
	"encoding/base64"
	"html/template"
	"image"
	"image/color"
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
	shade      = 1   // added to the width of the dark line below each outline
)

// Colours of the outlines. The page has the same colours for structures: they show on a fundus, on
// grey images, and to people who confuse red and green.
var (
	Structures = []color.RGBA{
		{63, 208, 255, 255}, {190, 245, 92, 255}, {245, 125, 183, 255}, {171, 154, 124, 255}, {106, 121, 255, 255}, {241, 218, 186, 255},
	}
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
	from, to := p.Place(0, 0), p.Place(float64(img.W), float64(img.H))
	inside := image.Rect(int(from.X), int(from.Y), int(math.Ceil(to.X)), int(math.Ceil(to.Y)))
	p.RGBA = whole.SubImage(inside).(*image.RGBA)
	return p
}

// Place converts a place of the image to a place of the picture.
func (p placing) Place(x, y float64) Point {
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
			loop = append(loop, p.Place(float64(lines.Points[2*j])+float64(x), float64(lines.Points[2*j+1])+float64(y)))
		}
		loops = append(loops, loop)
	}
	return loops
}

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

// Length is the piece's.
func (p Piece) Length() float64 { return math.Hypot(p.To.X-p.From.X, p.To.Y-p.From.Y) }

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
		scale := width / 2 / p.Length()
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
