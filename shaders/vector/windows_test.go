package vector

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// All numbers of positions that a block has, channels that fill vectors and that do not, all ways to
// begin and both directions of taps.
func TestWindows(t *testing.T) {
	const gap, before = 3, 7 // between rows of y; in front of x and of the weights
	infinite := float32(math.Inf(1))
	asLevels(t, func(l *Level) {
		for _, n := range []int{1, 3, 8, 17, 24, 40, 77, 104} {
			for positions := range 10 {
				for i, taps := range [][2]int{{3, 3}, {1, 2}, {2, 5}, {0, 3}, {3, 0}, {1, 1}} {
					for start := range 3 {
						w := Windows{
							Channels: n, Positions: positions, Taps: taps, YStep: n + gap, XStep: 2 * n,
							XTap: [2]int{20 * n, n}, WeightTap: [2]int{taps[1] * n, n}, X0: before, Weight0: before,
							X: random(before+(20*2+2*9+5)*n, 1), Weights: random(before+9*n+n, 2), Least: -infinite, Most: infinite,
						}
						if start == 1 && i%2 == 0 {
							w.Least, w.Most = -.5, 1
						}
						if i%2 == 1 && taps[0] > 0 { // the last tap first
							w.X0 += (taps[0]-1)*w.XTap[0] + (taps[1]-1)*w.XTap[1]
							w.Weight0 += (taps[0]*taps[1] - 1) * n
							for _, step := range []*int{&w.XTap[0], &w.XTap[1], &w.WeightTap[0], &w.WeightTap[1]} {
								*step = -*step
							}
						}
						y := random(positions*w.YStep+1, 3)
						w.Y = append([]float32(nil), y...)
						bias := random(n, 4)
						switch start {
						case 1:
							w.Start = bias
						case 2:
							w.Start, w.StartStep = w.Y, w.YStep
						}
						w.Sum()
						far := 0.
						for at := range y {
							position, c := at/w.YStep, at%w.YStep
							want := float64(y[at])
							if position < positions && c < n {
								want = [3]float64{0, float64(bias[c]), want}[start]
								for r := range taps[0] {
									for s := range taps[1] {
										x := w.X[w.X0+position*w.XStep+r*w.XTap[0]+s*w.XTap[1]+c]
										want += float64(x) * float64(w.Weights[w.Weight0+r*w.WeightTap[0]+s*w.WeightTap[1]+c])
									}
								}
								want = min(max(want, float64(w.Least)), float64(w.Most))
							}
							far = max(far, math.Abs(want-float64(w.Y[at])))
						}
						require.Less(t, far, 1e-5, "%s: %d channels, %d positions, taps %v, start %d", l.Name, n, positions, taps, start)
					}
				}
			}
		}
	})
}

// Vectors check nothing: the call does.
func TestWindowsBeyondSlices(t *testing.T) {
	asLevels(t, func(l *Level) {
		const n, positions = 40, 5
		whole := func() *Windows {
			return &Windows{
				Channels: n, Positions: positions, Taps: [2]int{1, 3}, YStep: n, XStep: n, XTap: [2]int{0, n}, WeightTap: [2]int{0, n},
				Y: make([]float32, positions*n), X: make([]float32, (positions+2)*n), Weights: make([]float32, 3*n), Start: make([]float32, n),
			}
		}
		require.NotPanics(t, whole().Sum, l.Name)
		for _, slice := range []func(w *Windows) *[]float32{
			func(w *Windows) *[]float32 { return &w.Y }, func(w *Windows) *[]float32 { return &w.X },
			func(w *Windows) *[]float32 { return &w.Weights }, func(w *Windows) *[]float32 { return &w.Start },
		} {
			w := whole()
			s := slice(w)
			*s = (*s)[: len(*s)-1 : len(*s)-1]
			require.Panics(t, w.Sum, l.Name)
		}
		w := whole()
		w.XTap[1] = -n
		require.Panics(t, w.Sum, "%s: before the first element", l.Name)
	})
}

func TestWindowsKeepNaN(t *testing.T) {
	asLevels(t, func(l *Level) {
		for _, at := range []int{0, 8, 18} {
			x, ones := make([]float32, 19), make([]float32, 19)
			x[at] = float32(math.NaN())
			w := &Windows{Channels: 19, Positions: 1, Taps: [2]int{1, 1}, Y: ones, X: x, Weights: append([]float32(nil), ones...), Most: 6}
			w.Sum()
			for c, v := range w.Y {
				assert.Equal(t, c == at, v != v, "%s: channel %d", l.Name, c)
			}
		}
	})
}
