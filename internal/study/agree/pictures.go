package agree

import (
	"fmt"

	"mrprism/internal/command"
	"mrprism/internal/study/picture"
	"mrprism/internal/study/report"
)

// picture reads the image at the size of the album.
func (g *agreementStudy) picture(l *comparedImage) (*picture.Picture, error) {
	img, err := command.ReadImage(l.Image)
	if err != nil {
		return nil, err
	}
	return picture.NewPicture(img), nil
}

// draw draws the outlines of all raters on a copy of the picture.
func (g *agreementStudy) draw(bare *picture.Picture, l *comparedImage, k int, c *comparedMarks) (report.Exhibit, error) {
	p := bare.Copy()
	for m, mark := range l.marks[k] {
		if mark != nil {
			picture.Shaded(p.RGBA, picture.Whole(p.Trace(asMap(mark), l.W, l.H, 0, 0)), picture.ResultLine, picture.RaterColour(m))
		}
	}
	shot, err := report.NewShot("", g.figure(&c.disagreement), p.RGBA)
	return report.Exhibit{Name: c.image, Shots: []report.Shot{shot}}, err
}

// figure says in a few words how far the raters disagree.
func (g *agreementStudy) figure(d *disagreement) string {
	if g.data.Levels {
		return fmt.Sprintf("all of them marked %.0f %% of what anybody marked", 100*d.consensus)
	}
	return fmt.Sprintf("mean Dice %.1f; %s and %s %.1f", 100*d.dice, g.data.Raters[d.a], g.data.Raters[d.b], 100*d.least)
}

// asMap is a mask as a map of probabilities.
func asMap(mask []uint8) []float32 {
	p := make([]float32, len(mask))
	for i, v := range mask {
		p[i] = float32(v)
	}
	return p
}
