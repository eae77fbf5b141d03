package trust

import (
	"testing"

	"mrprism/weights"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// taken are photographs of one camera: clouds that differ by shift in every second feature.
func taken(name string, n int, seed uint64, shift float32) Photographs {
	p := Photographs{Name: name, Looks: cloud(n, seed)}
	for i, look := range p.Looks {
		p.Parts = append(p.Parts, i%10)
		for j := 0; j < len(look); j += 2 {
			look[j] += shift
		}
	}
	return p
}

// A camera's new photographs are near to it, those of another are not: neither one that was known
// nor one beyond it. Directions find what is small beside the spread of photographs.
func TestCamera(t *testing.T) {
	own := taken("own", 40, 1, 0)
	c, ok := NewCamera(own, []Photographs{taken("other", 60, 2, .15), taken("third", 30, 3, -1)})
	require.True(t, ok)
	c.Classes = []string{"cup"}
	require.Len(t, c.Others, 2)
	known := []weights.Camera{c}
	share := func(p Photographs) float64 {
		near := 0
		for _, look := range p.Looks {
			if away, _, is := Away(known, "cup", look); is && away <= 1 {
				near++
			}
		}
		return float64(near) / float64(len(p.Looks))
	}
	assert.Greater(t, share(taken("own", 200, 4, 0)), .75)
	assert.Less(t, share(taken("other", 200, 5, .15)), .1)
	assert.Less(t, share(taken("nobody's", 200, 6, .2)), .1, "beyond the other")
	assert.Less(t, share(taken("nobody's", 200, 7, 3)), .1)

	alone, ok := NewCamera(own, nil)
	require.True(t, ok)
	alone.Classes = []string{"cup"}
	known = []weights.Camera{alone}
	assert.Greater(t, share(taken("other", 200, 5, .15)), .5, "distance alone hardly tells these two apart, or this test says little")

	_, _, is := Away(known, "disc", own.Looks[0])
	assert.False(t, is, "every data set teaches the disc")
	away, _, is := Away(known, "cup", nil)
	assert.True(t, is && away > 1, "a crop does not show its camera")
	_, ok = NewCamera(taken("few", 3, 1, 0), nil)
	assert.False(t, ok)
}
