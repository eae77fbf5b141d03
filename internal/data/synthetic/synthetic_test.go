package synthetic

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"image"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func sum(img *image.RGBA) string { return fmt.Sprintf("%x", sha256.Sum256(img.Pix))[:16] }

// TestDeterminism: a seed gives the same bytes on every machine and in every version, until someone
// changes the generator on purpose. Eight bits a channel hide differences in the last bits of math
// functions between processors.
func TestDeterminism(t *testing.T) {
	assert.Equal(t, "c00a3d11bb5e357d", sum(Photograph(SampleSeed, 384, 329)))
	c := mustScenario(t, "random-errors").Case(7, 3, 96)
	assert.Equal(t, "3050b46c9f417a4c", sum(c.Scene.Image()))
	assert.Equal(t, "c72f240ef244eada", sum(c.Scene.TextureImage()))
	h := sha256.New()
	for _, masks := range c.Labels {
		for _, mask := range masks {
			for _, marked := range mask {
				h.Write([]byte{map[bool]byte{true: 1}[marked]})
			}
		}
	}
	assert.Equal(t, "9662d746b8cb1ca9", fmt.Sprintf("%x", h.Sum(nil))[:16])
	assert.NotEqual(t, sum(c.Scene.Image()), sum(NewScene(8, 96).Image()))
}

func mustScenario(t *testing.T, name string) *Scenario {
	t.Helper()
	s, err := FindScenario(name)
	require.NoError(t, err)
	return &s
}

// TestClosedForm: the rate at which simulated raters mark a pixel equals the formula, for every
// rater of every preset.
func TestClosedForm(t *testing.T) {
	const side, draws = 24, 400
	for _, name := range []string{"unbiased", "one-expert", "random-errors", "sectoral", "changing-panels"} {
		sc := mustScenario(t, name)
		t.Run(sc.Name, func(t *testing.T) {
			scene := NewScene(11, side)
			for m, r := range sc.Raters {
				var counts [2][side * side]int
				for d := range draws {
					for class, mask := range scene.Mark(r, uint64(1000*m+d)) {
						for i, marked := range mask {
							if marked {
								counts[class][i]++
							}
						}
					}
				}
				for class := range counts {
					p := scene.Probability(r, class)
					undecided, meanSquare := 0, 0.0
					for i, n := range counts[class] {
						rate := float64(n) / draws
						se := math.Sqrt(p[i]*(1-p[i])/draws) + 1e-12
						// Five standard errors for 2·576 pixels a rater. Four draws more if only few marks are
						// expected: their counts are not normal.
						if math.Abs(rate-p[i]) > 5*se+4.0/draws {
							t.Fatalf("%s %s pixel %d: %d of %d draws, expected the share %v", r.Name, Classes[class], i, n, draws, p[i])
						}
						if p[i] > 0.02 && p[i] < 0.98 {
							undecided++
							meanSquare += sq((rate - p[i]) / se)
						}
					}
					require.Greater(t, undecided, 10, "the test sees disputed pixels")
					// The mean squared deviation is one standard error if the formula is exact. Neighbouring
					// pixels depend on each other, and the tolerance is wide.
					assert.InDelta(t, 1, meanSquare/float64(undecided), 0.8, "%s %s", r.Name, Classes[class])
				}
			}
			mean := scene.Calibrated(sc.Raters, Cup)
			want := 0.0
			for _, r := range sc.Raters {
				want += scene.Probability(r, Cup)[side*side/2+side/2] / float64(len(sc.Raters))
			}
			assert.InDelta(t, want, mean[side*side/2+side/2], 1e-12)
		})
	}
}

// TestClosedFormCanFail: the test above notices a rater who differs from the description.
func TestClosedFormCanFail(t *testing.T) {
	scene := NewScene(11, 64)
	count := func(r Rater) (marked float64) {
		for d := range 50 {
			for _, on := range scene.Mark(r, uint64(d))[Disc] {
				if on {
					marked++
				}
			}
		}
		return marked / 50
	}
	expected := func(r Rater) (area float64) {
		for _, p := range scene.Probability(r, Disc) {
			area += p
		}
		return area
	}
	plain, biased := Rater{Noise: 0.08}, Rater{Noise: 0.08, Bias: 0.05}
	assert.InEpsilon(t, expected(plain), count(plain), 0.02)
	assert.Greater(t, count(biased)/expected(plain), 1.06)
	assert.Greater(t, count(Rater{Noise: 0.08, Response: 1})/expected(plain), 1.04)
}

// TestNested: the cup lies inside the disc in the truth and in every rater's mask, also after
// flips. Only a swap exchanges them.
func TestNested(t *testing.T) {
	inside := func(cup, disc []bool) bool {
		for i := range cup {
			if cup[i] && !disc[i] {
				return false
			}
		}
		return true
	}
	swaps := 0
	for seed := range uint64(12) {
		scene := NewScene(seed, 80)
		require.True(t, inside(scene.Truth(Cup), scene.Truth(Disc)), "truth %d", seed)
		for _, sc := range Scenarios {
			for m, r := range sc.Raters {
				swapped := r.Swapped > 0
				r.Swapped = 0
				masks := scene.Mark(r, uint64(m))
				require.True(t, inside(masks[Cup], masks[Disc]), "seed %d, %s of %s", seed, r.Name, sc.Name)
				if swapped {
					r.Swapped, r.Blank = 1, 0
					masks = scene.Mark(r, uint64(m))
					require.True(t, inside(masks[Disc], masks[Cup]))
					swaps++
				}
			}
		}
	}
	assert.Positive(t, swaps)
	wild := Rater{Noise: 0.5, Missed: 0.3, Strayed: 0.7}
	masks := NewScene(3, 80).Mark(wild, 1)
	assert.True(t, inside(masks[Cup], masks[Disc]))
	assert.Panics(t, func() { NewScene(3, 8).Mark(Rater{Noise: 0.1, Missed: 0.8, Strayed: 0.3}, 1) })
	assert.Panics(t, func() { NewScene(3, 8).Mark(Rater{}, 1) })
}

// TestSectors: a sectoral rater is better than the others in the own quadrant and worse elsewhere.
func TestSectors(t *testing.T) {
	raters := mustScenario(t, "sectoral").Raters
	var errors [4][4]float64 // by rater, quadrant
	for seed := range uint64(6) {
		scene := NewScene(100+seed, 96)
		truth := scene.Truth(Disc)
		for m, r := range raters {
			mask := scene.Mark(r, uint64(m))[Disc]
			scene.eachPixel(func(i int, x, y float64) {
				if mask[i] != truth[i] {
					quadrant := int(math.Floor((math.Atan2(y, x)+math.Pi/4)/(math.Pi/2)+4)) % 4
					errors[m][quadrant]++
				}
			})
		}
	}
	for m := range errors {
		for quadrant := range errors[m] {
			if quadrant != m {
				assert.Less(t, 2*errors[m][m], errors[m][quadrant], "rater %d, quadrant %d: %v", m, quadrant, errors)
			}
		}
	}
}

func TestDistanceIsSigned(t *testing.T) {
	e := NewEye(5)
	for class := range Classes {
		assert.Positive(t, e.Distance(class, 0, 0))
		assert.Negative(t, e.Distance(class, 1.5, 0))
		for _, theta := range []float64{-3, -1, 0.2, 2.5} {
			// On the contour the distance is 0 and falls by nearly 1 per unit along the contour's normal.
			// Along the ray it falls by the cosine of the angle between them.
			low, high := 0.0, 2.0
			for range 60 {
				if middle := (low + high) / 2; e.Distance(class, middle*math.Cos(theta), middle*math.Sin(theta)) > 0 {
					low = middle
				} else {
					high = middle
				}
			}
			step := 1e-4
			gradient := func(dx, dy float64) float64 {
				x, y := low*math.Cos(theta), low*math.Sin(theta)
				return (e.Distance(class, x+dx*step, y+dy*step) - e.Distance(class, x-dx*step, y-dy*step)) / (2 * step)
			}
			// First order: exact on the contour itself.
			assert.InDelta(t, 1, math.Hypot(gradient(1, 0), gradient(0, 1)), 1e-3)
		}
	}
}

// TestSameEyeAtEverySize: the truth of a scene is equal at any side.
func TestSameEyeAtEverySize(t *testing.T) {
	share := func(side int) float64 {
		n := 0
		for _, on := range NewScene(21, side).Truth(Disc) {
			if on {
				n++
			}
		}
		return float64(n) / float64(side*side)
	}
	// The contour is about 0.8 sides long; half a pixel of it either way at side 64 is 0.6 % of the
	// square.
	assert.InDelta(t, share(256), share(64), 0.006)
	assert.InDelta(t, share(256), share(37), 0.012)
}

// TestPhotographLooksLikeOne holds colours and layout to the ranges of real photographs (fifty of
// Drishti-GS1: background 110, 55, 15; disc outside the cup 170, 80, 25; cup 200, 105, 35, varying
// by about a third).
func TestPhotographLooksLikeOne(t *testing.T) {
	for seed := range uint64(4) {
		const w, h = 384, 329
		img, scene := NewPhotograph(seed, w, h)
		disc, cup := scene.Truth(Disc), scene.Truth(Cup)
		var mean [3][4]float64 // background, disc, cup: r, g, b, count
		for i := range disc {
			region := 0
			if cup[i] {
				region = 2
			} else if disc[i] {
				region = 1
			}
			if img.Pix[4*i] < 25 {
				continue
			}
			for k := range 3 {
				mean[region][k] += float64(img.Pix[4*i+k])
			}
			mean[region][3]++
		}
		for region, want := range [][3]float64{{110, 50, 13}, {175, 85, 27}, {200, 108, 38}} {
			require.Positive(t, mean[region][3])
			for k, v := range want {
				assert.InDelta(t, v, mean[region][k]/mean[region][3], 10+0.3*v, "seed %d region %d channel %d", seed, region, k)
			}
		}
		// Corners are black, and the disc has the size of real photographs and lies beside the middle.
		for _, corner := range []image.Point{{0, 0}, {w - 1, 0}, {0, h - 1}, {w - 1, h - 1}} {
			assert.Less(t, int(img.RGBAAt(corner.X, corner.Y).R), 12)
		}
		diameter := 2 * scene.view.radius / w
		assert.True(t, diameter > 0.14 && diameter < 0.22, "disc %.3f of the width", diameter)
		assert.Greater(t, math.Abs(scene.view.x-w/2), 0.04*w)
	}
}

func TestOddSizes(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {1, 9}, {17, 3}, {64, 200}} {
		img := Photograph(2, size[0], size[1])
		assert.Equal(t, size, [2]int{img.Rect.Dx(), img.Rect.Dy()})
	}
	assert.Len(t, NewScene(1, 1).Truth(Disc), 1)
}

func TestPermutedOrder(t *testing.T) {
	sc := mustScenario(t, "permuted")
	orders := map[string]bool{}
	for i := range 8 {
		c := sc.Case(1, i, 16)
		b := []byte{}
		for _, m := range c.Order {
			b = binary.AppendUvarint(b, uint64(m))
		}
		orders[string(b)] = true
		for m, labels := range c.Labels {
			assert.Equal(t, c.Scene.Mark(sc.Raters[c.Order[m]], forRaters+uint64(c.Order[m])), labels)
		}
	}
	assert.Greater(t, len(orders), 4)
	_, err := FindScenario("none")
	assert.ErrorContains(t, err, "sectoral")
}

// TestChangingPanels: three to five raters mark an image, all sizes and all pairs of raters occur,
// and a rater marks the same whoever else is in the panel.
func TestChangingPanels(t *testing.T) {
	sc := mustScenario(t, "changing-panels")
	var sizes [9]int
	var pairs [8][8]int
	for i := range 100 {
		c := sc.Case(1, i, 16)
		size := 0
		for m, labels := range c.Labels {
			if labels == nil {
				continue
			}
			size++
			assert.Equal(t, c.Scene.Mark(sc.Raters[m], forRaters+uint64(m)), labels)
			for n, others := range c.Labels {
				if others != nil {
					pairs[m][n]++
				}
			}
		}
		sizes[size]++
	}
	assert.Equal(t, 100, sizes[3]+sizes[4]+sizes[5])
	assert.Positive(t, min(sizes[3], sizes[4], sizes[5]))
	for m := range pairs {
		assert.InDelta(t, 50, pairs[m][m], 20, "half of the images, within four standard errors")
		assert.Positive(t, slices.Min(pairs[m][:]), "rater %d has met every other", m)
	}
	low, high := 0.0, 0.0
	for _, r := range sc.Raters {
		low, high = min(low, r.Bias), max(high, r.Bias)
	}
	assert.True(t, low < 0 && high > 0)
}

// TestTextureImageSaysNothing: the texture is equal inside and outside of the disc, unlike the
// image.
func TestTextureImageSaysNothing(t *testing.T) {
	contrast := func(picture func(*Scene) *image.RGBA) (d float64) {
		for seed := range uint64(8) {
			scene := NewScene(seed, 64)
			img := picture(scene)
			var mean, n [2]float64
			for i, on := range scene.Truth(Disc) {
				k := 0
				if on {
					k = 1
				}
				mean[k] += float64(img.Pix[4*i+1])
				n[k]++
			}
			d += (mean[1]/n[1] - mean[0]/n[0]) / 8
		}
		return d
	}
	assert.Greater(t, contrast((*Scene).Image), 25.0)
	assert.Less(t, math.Abs(contrast((*Scene).TextureImage)), 4.0)
}
