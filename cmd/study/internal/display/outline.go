// Package display has the figures, galleries and outlines that only reports of the study show.
package display

import (
	"errors"
	"image"
	"image/color"
	"image/draw"
	"math"
	"os"

	"mrprism/internal/choice"
	"mrprism/internal/study/picture"
)

const (
	TruthLine  = 1 // width of the dashed outline
	Dash, Hole = 4, 3
)

var white = color.RGBA{255, 255, 255, 255}

// Circle is the outline of a circle of radius r about x, y, in pixels of the image.
func Circle(p *picture.Picture, x, y, r float64) (loop []picture.Point) {
	const corners = 72
	for i := range corners {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / corners)
		loop = append(loop, p.Place(x+r*cos, y+r*sin))
	}
	return loop
}

// Result draws the model's outline of a class.
func Result(p *picture.Picture, class int, loops [][]picture.Point) {
	picture.Shaded(p.RGBA, picture.Whole(loops), picture.ResultLine, picture.Structures[class%len(picture.Structures)])
}

// Truth draws the dashed outline of the raters' majority or of the CSV's circle.
func Truth(p *picture.Picture, loops [][]picture.Point) {
	picture.Shaded(p.RGBA, dashed(loops), TruthLine, white)
}

// dashed cuts closed lines into pieces with holes. A line has a whole number of dashes. A line that
// is too short for two dashes has no hole.
func dashed(loops [][]picture.Point) (pieces []picture.Piece) {
	for _, loop := range loops {
		sides, length := picture.Whole([][]picture.Point{loop}), 0.
		for _, s := range sides {
			length += s.Length()
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
func Every(sides []picture.Piece, period float64) (pieces []picture.Piece) {
	share, along := period*Dash/(Dash+Hole), 0. // along is the way since the period began
	for _, s := range sides {
		length := s.Length()
		for done := 0.; done < length; {
			end := share
			if along >= share {
				end = period
			}
			step := min(end-along, length-done)
			if along < share {
				pieces = append(pieces, picture.Piece{From: at(s, done/length), To: at(s, (done+step)/length)})
			}
			done += step
			if along += step; along >= period {
				along = 0
			}
		}
	}
	return pieces
}

// at is the place at a share of the way.
func at(p picture.Piece, share float64) picture.Point {
	return picture.Point{X: p.From.X + share*(p.To.X-p.From.X), Y: p.From.Y + share*(p.To.Y-p.From.Y)}
}

// Copy is the picture with pixels of its own.
func Copy(p *picture.Picture) *picture.Picture {
	twin := *p
	twin.RGBA = image.NewRGBA(p.Rect)
	draw.Draw(twin.RGBA, p.Rect, p.RGBA, p.Rect.Min, draw.Src)
	return &twin
}

// CheckVacant returns an error if a folder of that name has files, or cannot be read; nil without a
// name.
func CheckVacant(folder string) error {
	if folder == "" {
		return nil
	}
	entries, err := os.ReadDir(folder)
	switch {
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return choice.Errorf("%s: cannot be read (%w); name a new folder as $out", folder, errors.Unwrap(err))
	case len(entries) > 0:
		return choice.Errorf("%s is not empty; name a new folder as $out", folder)
	}
	return nil
}
