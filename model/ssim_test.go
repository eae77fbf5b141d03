package model

import (
	"encoding/json"
	"image"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ssim is the mean over pixels of ssimMap for values in 0..1: the similarity that training
// maximises.
func ssim(a, b []float64, w, h int) float64 { return mean(ssimMap(a, b, w, h, 1)) }

func mean(values []float64) (sum float64) {
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// ssimMap is the structural similarity (h, w) of two pictures (h, w) whose values span valueRange.
// The window is an 11×11 Gaussian of σ = 1.5; K1 = 0.01, K2 = 0.03 (Wang et al. 2004). Beyond the
// border both pictures are zero, with the window's full weight. Local variances are not corrected
// for the sample's size.
func ssimMap(a, b []float64, w, h int, valueRange float64) []float64 {
	product := func(x, y []float64) []float64 {
		out := make([]float64, len(x))
		for i := range x {
			out[i] = x[i] * y[i]
		}
		return gaussian(out, w, h)
	}
	meanA, meanB := gaussian(a, w, h), gaussian(b, w, h)
	aa, bb, ab := product(a, a), product(b, b), product(a, b)
	c1, c2 := squared(.01*valueRange), squared(.03*valueRange)
	out := make([]float64, w*h)
	for i := range out {
		ma, mb := meanA[i], meanB[i]
		va, vb, cov := aa[i]-ma*ma, bb[i]-mb*mb, ab[i]-ma*mb
		out[i] = (2*ma*mb + c1) * (2*cov + c2) / ((ma*ma + mb*mb + c1) * (va + vb + c2))
	}
	return out
}

// gaussian convolves with the Gaussian window, rows then columns, zero beyond the border.
func gaussian(src []float64, w, h int) []float64 {
	const radius, sigma = 5, 1.5
	var kernel [2*radius + 1]float64
	var sum float64
	for i := range kernel {
		kernel[i] = math.Exp(-squared(float64(i-radius)) / (2 * sigma * sigma))
		sum += kernel[i]
	}
	pass := func(src []float64, n, stride, lines, lineStride int) []float64 {
		dst := make([]float64, len(src))
		for line := range lines {
			for i := range n {
				for k, weight := range kernel {
					if j := i + k - radius; j >= 0 && j < n {
						dst[line*lineStride+i*stride] += weight / sum * src[line*lineStride+j*stride]
					}
				}
			}
		}
		return dst
	}
	return pass(pass(src, w, 1, h, w), h, w, w, 1)
}

func squared(x float64) float64 { return x * x }

// numpy is RandomState: MT19937 with the polar method for normal deviates (numpy's legacy
// generator).
type numpy struct {
	state [624]uint32
	at    int
	spare float64
	has   bool
}

func newNumpy(seed uint32) *numpy {
	n := &numpy{at: 624}
	n.state[0] = seed
	for i := uint32(1); i < 624; i++ {
		n.state[i] = 1812433253*(n.state[i-1]^n.state[i-1]>>30) + i
	}
	return n
}

func (n *numpy) uint32() uint32 {
	if n.at == 624 {
		for i := range 624 {
			y := n.state[i]&0x80000000 | n.state[(i+1)%624]&0x7fffffff
			n.state[i] = n.state[(i+397)%624] ^ y>>1 ^ (y&1)*0x9908b0df
		}
		n.at = 0
	}
	y := n.state[n.at]
	n.at++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

func (n *numpy) normal() float64 {
	if n.has {
		n.has = false
		return n.spare
	}
	uniform := func() float64 {
		a, b := n.uint32()>>5, n.uint32()>>6
		return (float64(a)*67108864 + float64(b)) / 9007199254740992
	}
	for {
		x, y := 2*uniform()-1, 2*uniform()-1
		if r := x*x + y*y; r < 1 && r != 0 {
			f := math.Sqrt(-2 * math.Log(r) / r)
			n.spare, n.has = f*x, true
			return f * y
		}
	}
}

// Scikit-image's test: the camera picture against itself with noise, compared with a value computed
// by IPOL.
func TestSSIMOfCameraEqualsIPOL(t *testing.T) {
	dir := os.Getenv("MRPRISM_VECTORS")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "vectors")
	}
	dir = filepath.Join(dir, "metrics")
	text, err := os.ReadFile(filepath.Join(dir, "ssim_expect.json"))
	if err != nil {
		t.Skipf("no third-party vectors: %v (set MRPRISM_VECTORS)", err)
	}
	var expect struct {
		IPOL float64 `json:"mssim_gaussian_IPOL_3decimals"`
	}
	require.NoError(t, json.Unmarshal(text, &expect))
	require.NotZero(t, expect.IPOL)
	file, err := os.Open(filepath.Join(dir, "camera.png"))
	require.NoError(t, err)
	defer file.Close()
	decoded, err := png.Decode(file)
	require.NoError(t, err)
	camera := decoded.(*image.Gray)
	w, h := camera.Rect.Dx(), camera.Rect.Dy()
	clean, noisy := make([]float64, w*h), make([]float64, w*h)
	random := newNumpy(5)
	for i, v := range camera.Pix {
		clean[i] = float64(v)
		noisy[i] = math.Floor(math.Max(0, math.Min(255, float64(v)+20*random.normal())))
	}
	// IPOL's and scikit-image's mean leaves out the border of half a window.
	var inner []float64
	for i, v := range ssimMap(clean, noisy, w, h, 255) {
		if x, y := i%w, i/w; x >= 5 && y >= 5 && x < w-5 && y < h-5 {
			inner = append(inner, v)
		}
	}
	assert.InDelta(t, expect.IPOL, mean(inner), 1.5e-3, "three decimals, as scikit-image asks")
}

func TestSSIM(t *testing.T) {
	a := make([]float64, 20*15)
	for i := range a {
		a[i] = math.Abs(math.Sin(float64(i)))
	}
	assert.InDelta(t, 1, ssim(a, a, 20, 15), 1e-12)
	inverted := make([]float64, len(a))
	for i, v := range a {
		inverted[i] = 1 - v
	}
	assert.Less(t, ssim(a, inverted, 20, 15), 0.)
	assert.InDelta(t, ssim(a, inverted, 20, 15), ssim(inverted, a, 20, 15), 1e-12)
	// A flat pair one window wide: at the centre only the luminance term is left, (2ab + C1)/(a² +
	// b² + C1).
	flatA, flatB := make([]float64, 121), make([]float64, 121)
	for i := range flatA {
		flatA[i], flatB[i] = .8, .4
	}
	assert.InDelta(t, (2*.32+1e-4)/(.8)*1/(1+1e-4/.8), ssimMap(flatA, flatB, 11, 11, 1)[60], 1e-9)
}
