package imageio

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTurn(t *testing.T) {
	const w, h = 3, 2
	pixels := []int{
		1, 10, 2, 20, 3, 30,
		4, 40, 5, 50, 6, 60,
	}
	assert.Equal(t, []int{4, 40, 1, 10, 5, 50, 2, 20, 6, 60, 3, 30}, Turn(pixels, w, h, 2))
	four := Turn(Turn(Turn(Turn(pixels, w, h, 2), h, w, 2), w, h, 2), h, w, 2)
	assert.Equal(t, pixels, four)
}
