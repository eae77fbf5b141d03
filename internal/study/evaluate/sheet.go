package evaluate

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"io"
	"slices"

	"mrprism/internal/study/picture"

	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"
)

// Measures of the sheet in pixels.
const (
	columns  = 5
	border   = 4 // width of a frame
	cellWide = picture.Longest + 2*border
	gap      = 18
	lineTall = 16 // from one line of text to the next
	below    = 4  // from a frame to its caption
	wide     = columns*cellWide + (columns+1)*gap
)

// Colours of the sheet.
var (
	ground = color.RGBA{24, 26, 29, 255}
	bright = color.RGBA{238, 240, 242, 255}
	pale   = color.RGBA{172, 178, 185, 255}
)

// block is rows of cells below a title.
type block struct {
	title string
	cells []*picture.Cell
}

// blocks are the results of -data and of -centres, if there are any.
func (s *contactSheet) blocks() (blocks []block) {
	add := func(title string, w picture.Worst) {
		if len(w.Cells) > 0 {
			blocks = append(blocks, block{fmt.Sprintf("%s (%d of %d)", title, len(w.Cells), w.Offered), w.Cells})
		}
	}
	add(fmt.Sprintf("Images of -data: the lowest soft Dice x100 of the %s first", s.classes[s.ranked]), s.data)
	add("Photographs of -centres: wrong results first, then the farthest from the centre, in radii r of the circle", s.centres)
	return blocks
}

func (s *contactSheet) JPEG(w io.Writer) error {
	blocks := s.blocks()
	if len(blocks) == 0 {
		return fmt.Errorf("there is no sheet of the worst results: the program judged no image in which somebody has marked the %s", s.classes[s.ranked])
	}
	return jpeg.Encode(w, s.draw(blocks), &jpeg.Options{Quality: picture.Quality})
}

// draw draws the title, the legend and the blocks, one below the other.
func (s *contactSheet) draw(blocks []block) *image.RGBA {
	samples := s.samples()
	most := (len(samples) + 2) * (lineTall + gap) // no legend is taller
	for _, b := range blocks {
		most += 2*(lineTall+gap) + len(b.cells)*(cellWide+below+2*lineTall+gap)
	}
	on := image.NewRGBA(image.Rect(0, 0, wide, most))
	fill(on, on.Rect, ground)
	write(on, gap, gap, fit("The worst results of "+s.model, wide-2*gap), bright)
	y := legend(on, gap+lineTall+gap/2, samples) + gap
	for _, b := range blocks {
		y = b.draw(on, y) + gap
	}
	return on.SubImage(image.Rect(0, 0, wide, y)).(*image.RGBA)
}

// draw draws the block from y on and returns where it ends. The frames of a row stand on one line.
func (b block) draw(on *image.RGBA, y int) (end int) {
	write(on, gap, y, fit(b.title, wide-2*gap), bright)
	y += lineTall + gap/2
	for row := range slices.Chunk(b.cells, columns) {
		tallest := slices.MaxFunc(row, func(a, b *picture.Cell) int { return a.Picture.Rect.Dy() - b.Picture.Rect.Dy() })
		y += tallest.Picture.Rect.Dy() + 2*border
		for i, c := range row {
			size := c.Picture.Rect.Size().Add(image.Pt(2*border, 2*border))
			corner := image.Pt(gap+i*(cellWide+gap), y-size.Y)
			drawCell(c, on, image.Rectangle{corner, corner.Add(size)}, corner.X, y+below)
		}
		y += below + 2*lineTall + gap
	}
	return y
}

// drawCell draws the picture in its frame, and the captions from x, y on.
func drawCell(c *picture.Cell, on *image.RGBA, frame image.Rectangle, x, y int) {
	fill(on, frame, c.Frame)
	draw.Draw(on, frame.Inset(border), c.Picture, c.Picture.Rect.Min, draw.Src)
	turned, ink := "", c.Frame
	if c.Turned != 0 {
		turned = fmt.Sprintf(", turned %d", c.Turned)
	}
	if ink == grey {
		ink = pale
	}
	write(on, x, y, fit(c.Name, cellWide-textWidth(turned))+turned, bright)
	write(on, x, y+lineTall, c.Figure, ink)
}

// sample is an entry of the legend.
type sample struct {
	text string
	draw func(on *image.RGBA, at image.Rectangle)
}

// Measures of the legend in pixels: the picture of a sample, and the gap between samples.
const (
	swatch  = 26
	between = 24
)

// outlined is the sample of an outline.
func outlined(text string, stroke func(on *image.RGBA, along picture.Piece)) sample {
	return sample{text, func(on *image.RGBA, at image.Rectangle) {
		y := float64((at.Min.Y+at.Max.Y)/2) + .5
		stroke(on, picture.Piece{From: picture.Point{X: float64(at.Min.X), Y: y}, To: picture.Point{X: float64(at.Max.X), Y: y}})
	}}
}

// framed is the sample of a frame.
func framed(text string, ink color.RGBA) sample {
	return sample{text, func(on *image.RGBA, at image.Rectangle) {
		fill(on, at, ink)
		fill(on, at.Inset(border), ground)
	}}
}

// samples explain the outlines and the frames.
func (s *contactSheet) samples() (all []sample) {
	for k, class := range s.classes {
		all = append(all, outlined(class, func(on *image.RGBA, p picture.Piece) {
			picture.Stroke(on, []picture.Piece{p}, picture.ResultLine, picture.Structures[k%len(picture.Structures)])
		}))
	}
	truth, wrong := "the raters' majority or the circle of the CSV", "wrong or soft Dice below 50, not doubted"
	switch {
	case len(s.centres.Cells) == 0:
		truth, wrong = "the raters' majority", "soft Dice below 50, not doubted"
	case len(s.data.Cells) == 0:
		truth, wrong = "the circle of the CSV", "wrong, not doubted"
	}
	return append(all, outlined(truth, func(on *image.RGBA, p picture.Piece) {
		picture.Stroke(on, picture.Every([]picture.Piece{p}, picture.Dash+picture.Hole), picture.TruthLine, picture.White)
	}),
		framed(wrong, red), framed("doubted", amber), framed("neither", grey))
}

// legend draws the samples from y on and returns where they end. It begins a new line for a sample
// that would reach beyond the sheet.
func legend(on *image.RGBA, y int, samples []sample) (end int) {
	const textAt = swatch + swatch/4
	x := gap
	for _, s := range samples {
		sampleWide := textAt + textWidth(s.text)
		if x > gap && x+sampleWide > wide-gap {
			x, y = gap, y+lineTall+gap/4
		}
		s.draw(on, image.Rect(x, y, x+swatch, y+lineTall-2))
		write(on, x+textAt, y, s.text, pale)
		x += sampleWide + between
	}
	return y + lineTall + gap/4
}

func fill(on *image.RGBA, r image.Rectangle, ink color.RGBA) {
	draw.Draw(on, r, image.NewUniform(ink), image.Point{}, draw.Src)
}

// face has the letters of ASCII. It draws a box for other letters.
var face = basicfont.Face7x13

// textWidth is a text's width in pixels.
func textWidth(text string) int { return font.MeasureString(face, text).Ceil() }

// write writes a line of text below y.
func write(on *image.RGBA, x, y int, text string, ink color.RGBA) {
	d := font.Drawer{Dst: on, Src: image.NewUniform(ink), Face: face, Dot: fixed.P(x, y+face.Ascent)}
	d.DrawString(text)
}

// fit shortens a name to a width in pixels. It leaves out the middle, because names of photographs
// differ at the end.
func fit(name string, wide int) string {
	letters := []rune(name)
	if room := wide / face.Advance; len(letters) > room {
		const dots = "..."
		begin := (room - len(dots)) / 2
		end := room - len(dots) - begin
		return string(letters[:begin]) + dots + string(letters[len(letters)-end:])
	}
	return name
}
