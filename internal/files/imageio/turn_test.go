package imageio

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A 3×2 picture, turned clockwise: its left column becomes its top row. Turning back gives it again.
func TestTurned(t *testing.T) {
	m := &Image{W: 3, H: 2, Spacing: [2]float64{0.2, 0.1}, Pix: []uint8{1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6, 6}}
	levels := []int{1, 2, 3, 4, 5, 6}
	for turn, want := range [][]int{levels, {4, 1, 5, 2, 6, 3}, {6, 5, 4, 3, 2, 1}, {3, 6, 2, 5, 1, 4}} {
		turned := m.Turned(turn)
		assert.Equal(t, want, Turn(levels, 3, 2, 1, turn))
		for i, v := range want {
			assert.EqualValues(t, v, turned.Pix[3*i])
		}
		if turn%2 == 1 {
			assert.Equal(t, [2]float64{0.1, 0.2}, turned.Spacing)
		}
		back, w, h := Unturned(turned, want)
		assert.Equal(t, levels, back)
		assert.Equal(t, [2]int{3, 2}, [2]int{w, h})
		assert.Equal(t, m.Pix, turned.Turned((4-turn)%4).Pix)
	}
	assert.Equal(t, 0, m.Turned(3).Turned(1).Turn)
}
