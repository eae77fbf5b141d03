package segment

import (
	"math"
	"math/bits"
	"math/cmplx"
	"slices"
	"sync"

	"mrprism/internal/files/imageio"
)

// Quality says whether a photograph of an eye is good enough to be graded.
type Quality struct {
	Gradable bool    `json:"gradable"`
	Faults   []Doubt `json:"faults"` // why not, the first the gravest; empty, not null, without
	Light    float64 `json:"light"`  // median lightness of the field's middle, 0 to 1
	Burnt    float64 `json:"burnt"`  // share of the middle that has a channel at its end
	Lit      float64 `json:"lit"`    // share of the middle that is lit
	Dip      float64 `json:"dip"`    // darkest column or row of the middle over the lightest beside it
	Grid     float64 `json:"grid"`   // strongest line of the spectrum over the lines around it
}

// faults are reasons not to grade a photograph, the gravest first, with the figures that show them.
// The limits were chosen on HYGD's photographs, as they are and made worse, and on Drishti's as
// they are (model/DECISIONS.md).
var faults = []struct {
	code, text string
	of         func(q *Quality, sharpness float64) bool
}{
	{"several-fields", "This picture seems to hold more than one photograph.", func(q *Quality, _ float64) bool { return q.Dip < .25 }},
	{"screen", "This looks like a photograph of a screen.", func(q *Quality, _ float64) bool { return q.Grid > 12 }},
	{"dark", "This photograph is too dark.", func(q *Quality, _ float64) bool { return q.Light < .11 }},
	{"burnt", "Much of this photograph is burnt out.", func(q *Quality, _ float64) bool { return q.Burnt > .2 }},
	{"covered", "A part of the field is dark or covered.", func(q *Quality, _ float64) bool { return q.Lit < .85 }},
	{"blurred", "This photograph is not sharp.", func(_ *Quality, sharpness float64) bool { return sharpness < -2.9 }},
}

// black is the largest value, of 255, of the brightest channel of a pixel that is not lit.
const black = 20

// middle is the radius, over the field's side, of the circle in which quality is measured.
const middle = 0.42

// quality measures the pixels x (S, S, 3), 0 to 1, of an image's field, and the image around the
// middle of the field at its own scale.
func quality(x []float32, s int, img *imageio.Image, field imageio.Square, sharpness float64) *Quality {
	q, n := &Quality{Faults: []Doubt{}, Dip: dip(x, s), Grid: grid(img, field)}, 0.
	var light [256]float64
	for i := range s * s {
		if math.Hypot(float64(i%s)+.5-float64(s)/2, float64(i/s)+.5-float64(s)/2) > middle*float64(s) {
			continue
		}
		n++
		most := max(x[3*i], x[3*i+1], x[3*i+2])
		if most > black/255. {
			q.Lit++
		}
		if most >= .98 {
			q.Burnt++
		}
		light[int(255*(x[3*i]+x[3*i+1]+x[3*i+2])/3)]++
	}
	q.Lit, q.Burnt = q.Lit/n, q.Burnt/n
	for level, sum := 0, 0.; sum < n/2; level++ {
		sum, q.Light = sum+light[level], float64(level)/255
	}
	for _, f := range faults {
		if f.of(q, sharpness) {
			q.Faults = append(q.Faults, Doubt{f.code, f.text})
		}
	}
	q.Gradable = len(q.Faults) == 0
	return q
}

// dip is the least mean lightness of a column or row in the middle half of pixels (S, S, 3), over
// the lesser of the largest on its two sides: two fields side by side have a dark column between
// them.
func dip(x []float32, s int) float64 {
	least := 1.
	for _, way := range [][2]int{{1, s}, {s, 1}} {
		lines := make([]float64, s)
		for i := range lines {
			for j := range s {
				at := 3 * (i*way[0] + j*way[1])
				lines[i] += float64(x[at] + x[at+1] + x[at+2])
			}
		}
		for i := s / 4; i < s-s/4; i++ {
			before, after := 0., 0.
			for j, v := range lines {
				if j < i {
					before = max(before, v)
				} else {
					after = max(after, v)
				}
			}
			least = min(least, (lines[i]+1e-3)/(min(before, after)+1e-3))
		}
	}
	return least
}

// patch is the side, in pixels, of the square in which grid looks.
const patch = 128

// grid is the largest amplitude in the spectrum of a square around the middle of the field, over
// the mean amplitude at the same frequency. The dots of a screen, or their moiré, stand out in it.
// Frequencies below a tenth of a pixel's, and those of JPEG's blocks along rows and columns, do
// not count. 0: the image is smaller than the square.
func grid(img *imageio.Image, field imageio.Square) float64 {
	if min(img.W, img.H) < patch {
		return 0
	}
	x0 := min(max(0, field.X+field.Side/2-patch/2), img.W-patch)
	y0 := min(max(0, field.Y+field.Side/2-patch/2), img.H-patch)
	p, mean := make([]complex128, patch*patch), 0.
	for i := range p {
		at := 3 * ((y0+i/patch)*img.W + x0 + i%patch)
		v := float64(img.Pix[at]) + float64(img.Pix[at+1]) + float64(img.Pix[at+2])
		p[i], mean = complex(v, 0), mean+v/patch/patch
	}
	known := spectrum()
	for i := range p {
		p[i] = complex((real(p[i])-mean)*known.hann[i%patch]*known.hann[i/patch], 0)
	}
	for i := range patch {
		fourier(p[i*patch:][:patch])
	}
	column := make([]complex128, patch) // columns in place would meet in few lines of the cache
	for i := range patch {
		for j := range column {
			column[j] = p[j*patch+i]
		}
		fourier(column)
		for j, v := range column {
			p[j*patch+i] = v
		}
	}
	var sum, n [patch]float64
	amplitudes := make([]float64, 0, len(known.rings))
	for _, one := range known.rings {
		amplitude := cmplx.Abs(p[one.at])
		for near := one.ring - 1; near <= one.ring+1; near++ {
			sum[near], n[near] = sum[near]+amplitude, n[near]+1
		}
		amplitudes = append(amplitudes, amplitude)
	}
	most := 0.
	for i, one := range known.rings {
		most = max(most, amplitudes[i]/(sum[one.ring]/n[one.ring]+1e-3))
	}
	return most
}

// spectrum has what is the same in every square: the window, for each half of fourier its turns from
// there on, and the frequencies that count, with their distance from 0.
var spectrum = sync.OnceValue(func() (all struct {
	hann  [patch]float64
	turns []complex128
	rings []struct{ at, ring int }
}) {
	wave := func(i int) float64 { return float64((i+patch/2)%patch - patch/2) }
	for i := range patch * patch {
		fx, fy := wave(i%patch), wave(i/patch)
		if r := math.Hypot(fx, fy); r >= patch/10. && r < patch/2 && math.Abs(fx) > 2 && math.Abs(fy) > 2 {
			all.rings = append(all.rings, struct{ at, ring int }{i, int(r)})
		}
	}
	for i := range patch {
		all.hann[i] = .5 - .5*math.Cos(2*math.Pi*float64(i)/patch)
	}
	all.turns = make([]complex128, patch)
	for half := 1; half < patch; half *= 2 {
		for k := range half {
			all.turns[half+k] = cmplx.Rect(1, -math.Pi*float64(k)/float64(half))
		}
	}
	return all
})

// fourier transforms patch values, in place (Cooley and Tukey 1965).
func fourier(p []complex128) {
	turns := spectrum().turns
	for i := range patch {
		if j := int(bits.Reverse(uint(i)) >> (bits.UintSize - 7)); i < j { // 2⁷ = patch
			p[i], p[j] = p[j], p[i]
		}
	}
	for half := 1; half < patch; half *= 2 {
		for k := range half {
			turn := turns[half+k]
			for i := k; i < patch; i += 2 * half {
				a, b := p[i], p[i+half]*turn
				p[i], p[i+half] = a+b, a-b
			}
		}
	}
}

// Reasons are why to doubt a result, and why its photograph is hard to grade.
func (r *Result) Reasons() []Doubt {
	if r.Quality == nil {
		return r.Doubts
	}
	return slices.Concat(r.Doubts, r.Quality.Faults)
}

// first is the gravest fault, or empty. q may be nil.
func (q *Quality) first() string {
	if q == nil || q.Gradable {
		return ""
	}
	return q.Faults[0].Text
}

// cut is the share of a structure's outline beyond which nothing is lit, from which the structure
// counts as cut by the edge.
const cut = 0.05

// with is a quality that also says whether the structure of the anchor lies at the edge of the
// field, by the network's own mask. q may be nil.
func (q *Quality) with(img *imageio.Image, r *Maps, anchor int) *Quality {
	if q == nil {
		return nil
	}
	s, mask := r.side, channel(r.masks[r.Recurrences], anchor, len(r.Classes))
	inside := func(x, y int) bool { return x >= 0 && y >= 0 && x < s && y < s && mask[y*s+x] >= .5 }
	step, edge, dark := float64(r.ROI.Side)/float64(s), 0., 0.
	for i := range mask {
		x, y := i%s, i/s
		for _, to := range [][2]int{{x - 1, y}, {x + 1, y}, {x, y - 1}, {x, y + 1}} {
			if !inside(x, y) || inside(to[0], to[1]) {
				continue
			}
			edge++
			at := [2]int{r.ROI.X + int((float64(to[0])+.5)*step), r.ROI.Y + int((float64(to[1])+.5)*step)}
			if at[0] < 0 || at[1] < 0 || at[0] >= img.W || at[1] >= img.H || slices.Max(img.Pix[3*(at[1]*img.W+at[0]):][:3]) <= black {
				dark++
			}
		}
	}
	if dark <= cut*edge {
		return q
	}
	out := *q
	out.Gradable = false
	out.Faults = append([]Doubt{{"cut", "The " + r.Classes[anchor] + " is cut by the edge of the photograph."}}, q.Faults...)
	return &out
}
