package synthetic

import (
	"image"
	"math"
)

// Scene is an eye seen in a view: the truth of an image, and the raters' source.
type Scene struct {
	Eye           *Eye
	Width, Height int
	view          view
}

func newScene(e *Eye, v view) *Scene {
	return &Scene{Eye: e, Width: v.width, Height: v.height, view: v}
}

// NewScene frames the disc closely in a square of the given side, with its radius 0.2 to 0.28 of the side and near the middle. The same seed
// gives the same scene at every side.
func NewScene(seed uint64, side int) *Scene {
	r := source(seed, forFraming)
	s := float64(side)
	v := view{width: side, height: side, radius: s * between(r, 0.20, 0.28)}
	v.x, v.y = s*(0.5+between(r, -0.06, 0.06))-0.5, s*(0.5+between(r, -0.06, 0.06))-0.5
	return newScene(NewEye(seed), v)
}

// Image paints the scene.
func (s *Scene) Image() *image.RGBA { return newPainter(s.Eye).paint(s.view, nil) }

// TextureImage has the texture of Image and nothing of the eye in it: no disc, cup, vessels or macula. A network that sees it can only learn from
// labels.
func (s *Scene) TextureImage() *image.RGBA { return newPainter(s.Eye).paintTexture(s.view) }

// Truth is the structure itself: 1[s > 0], row by row.
func (s *Scene) Truth(class int) []bool {
	mask := make([]bool, s.Width*s.Height)
	s.each(func(i int, x, y float64) { mask[i] = s.Eye.Distance(class, x, y) > 0 })
	return mask
}

// each calls f for every pixel with its point of the eye.
func (s *Scene) each(f func(i int, x, y float64)) {
	for py := range s.Height {
		for px := range s.Width {
			x, y := s.view.point(px, py)
			f(py*s.Width+px, x, y)
		}
	}
}

// normalCDF is Φ.
func normalCDF(t float64) float64 { return 0.5 * math.Erfc(-t/math.Sqrt2) }
