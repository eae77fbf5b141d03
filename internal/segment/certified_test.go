package segment

import (
	"testing"

	"mrprism/internal/trust"
	"mrprism/weights"

	"github.com/stretchr/testify/assert"
)

// A ratio follows the certificate of its weights, which stands for what they know of cameras. Where
// marks made the masks, it says nothing.
func TestCertifiedRatio(t *testing.T) {
	c := weights.Certificate{Camera: "clinic", Date: "2026-11-29", Eyes: 12, Shift: .1, Slope: .5, Reach: .12, Coverage: .9}
	for i := range 12 {
		c.Photographs = append(c.Photographs, []float64{1, 2, 3, 4, 5, float64(i % 2)})
	}
	e := &Engine{about: weights.Metadata{Classes: []string{"disc", "cup"}, Anchor: "disc", Certificate: &c, Trust: &weights.Trust{Mirror: .1, Cameras: []weights.Camera{{Classes: []string{"cup"}, Far: 1}}}}}
	own := camera{appearance: []float64{1, 2, 3, 4, 5, .5}}
	certified := func(by camera, doubt float64, figures trust.Figures) *Ratio {
		r := &Result{Maps: Maps{Classes: e.about.Classes}, Doubt: &doubt, Figures: figures, Photograph: []float32{1}}
		if doubt > 1 {
			r.Doubts = []Doubt{{trust.Faint, "It can hardly be made out."}}
		}
		r.Measurements.VerticalRatio = &Ratio{Inner: "cup", Outer: "disc", Value: new(.6), Withheld: "These weights have learned no interval.", Trust: &trust.Verdict{Word: trust.Check}}
		e.certify(r, &Measurements{VerticalRatio: &Ratio{Inner: "cup", Outer: "disc", Value: new(.8), Low: new(.7), High: new(.9)}}, by)
		return r.Measurements.VerticalRatio
	}
	assert.Equal(t, &Ratio{
		Inner: "cup", Outer: "disc", Value: new(.5), Low: new(c.At(.7)), High: new(c.At(.9)), Trust: &trust.Verdict{Word: trust.Trusted},
		Interval: &Interval{Low: .38, High: .62, Coverage: .9, By: ByCertificate}, Certified: &Certified{Camera: "clinic", Date: "2026-11-29", Eyes: 12, Masks: .6},
	}, certified(own, 0, nil), "the masks before calibrate are those that were certified")
	assert.Contains(t, certified(own, 0, trust.Figures{trust.Mirror: .2}).Trust.Reason, "mirror image")
	assert.Contains(t, certified(camera{appearance: []float64{1, 2, 3, 4, 9, .5}}, 0, nil).Trust.Reason, "unlike those of the certificate, most in sharpness")
	drifting := certified(camera{own.appearance, "contrast"}, 0, nil)
	assert.Equal(t, trust.Verdict{Word: trust.Check, Reason: drifting.Certified.Drift}, *drifting.Trust)
	assert.Contains(t, drifting.Certified.Drift, "The last 20 photographs")
	doubted := certified(own, 2, nil)
	assert.Equal(t, trust.Verdict{Word: trust.DoNotUse, Reason: "It can hardly be made out."}, *doubted.Trust)
	assert.Nil(t, doubted.Interval)
	assert.Equal(t, doubted.Trust.Reason, doubted.Withheld)
	c.Reach = .2
	assert.Equal(t, "The ratio of this camera is certified to ±0.20 alone.", certified(own, 0, nil).Trust.Reason)

	r := &Result{Measurements: Measurements{VerticalRatio: &Ratio{Value: new(.6)}}}
	e.certify(r, nil, own)
	assert.Equal(t, &Ratio{Value: new(.6)}, r.Measurements.VerticalRatio)
}

// After each window the photographs are compared with those of the certificate.
func TestTheCameraIsWatched(t *testing.T) {
	c, e := weights.Certificate{}, &Engine{}
	figures := func(i int, brighter float64) []float64 {
		return []float64{brighter + float64(i%5), float64(i % 3), 1, 2, 3, 4}
	}
	assert.Empty(t, e.watch(figures(0, 0)).drifted)
	for i := range 12 {
		c.Photographs = append(c.Photographs, figures(i, 0))
	}
	e.about.Certificate = &c
	for i := range 2*trust.Window - 1 {
		assert.Empty(t, e.watch(figures(i, float64(i/trust.Window)*4)).drifted, i)
	}
	assert.Equal(t, "brightness", e.watch(figures(39, 4)).drifted)
	assert.Equal(t, "brightness", e.watch(figures(40, 0)).drifted, "until the next window")

	dark, light := appearance([]float32{.2, .1, .1, .4, .3, .1}, 5, 6), appearance([]float32{.4, .2, .2, .8, .6, .2}, 5, 6)
	assert.Equal(t, len(trust.Appearances), len(dark))
	assert.InDelta(t, dark[1], light[1], 1e-6, "twice as bright, the colour stays")
	assert.Greater(t, light[0], dark[0])
	assert.Equal(t, []float64{6, 5}, light[4:])
}
