package segment

import (
	"bytes"
	"image"
	"math"
	"slices"
	"testing"

	"mrprism/internal/data/instances"
	"mrprism/internal/files/imageio"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTilesCoverThePicture(t *testing.T) {
	for _, size := range [][2]int{{100, 60}, {256, 256}, {257, 900}, {1000, 800}} {
		for _, scale := range []float64{0.4, 1.25, 4} {
			img := &imageio.Image{W: size[0], H: size[1]}
			m, tiles := newMap(img, scale), tilesOf(img, scale, 256)
			for i := range m.cell {
				at := image.Pt(i%m.w, i/m.w)
				if !slices.ContainsFunc(tiles, func(tile image.Point) bool { return at.In(image.Rect(tile.X, tile.Y, tile.X+256, tile.Y+256)) }) {
					t.Fatalf("%v at %v: no tile has %v", size, scale, at)
				}
			}
		}
	}
	assert.Len(t, tilesOf(&imageio.Image{W: 100, H: 60}, 100./256, 256), 1)
}

// marked is a map of discs with cores: x, y, radius.
func marked(scale float64, discs ...[3]float64) *fieldMap {
	m := newMap(&imageio.Image{W: int(100 * scale), H: int(100 * scale)}, scale)
	for _, d := range discs {
		for i := range m.cell {
			switch far := math.Hypot(float64(i%m.w)-d[0], float64(i/m.w)-d[1]); {
			case far < d[2]/2:
				m.core[i], m.cell[i] = 230, 255
			case far < d[2]:
				m.cell[i] = 255
			}
		}
	}
	return m
}

func TestCoresTellTouchingThingsApart(t *testing.T) {
	things := marked(4, [3]float64{30, 30, 12}, [3]float64{52, 30, 12}, [3]float64{80, 80, 1}).things()
	require.Len(t, things, 2, "a core of one pixel is none")
	for i, one := range things {
		assert.InEpsilon(t, math.Pi*144*16, one.area, .1)
		assert.InDelta(t, .9, one.sure, .01)
		assert.True(t, one.has(4*(30+22*i), 120))
		assert.False(t, one.has(4*(52-22*i), 120))
		assert.InDelta(t, 92, one.box.Dx(), 8)
	}
	field := instances.New(400, 400, "cell")
	_, err := field.Add(image.Rect(100, 100, 110, 110), bytes.Repeat([]byte{255}, 100), instances.Object{})
	require.NoError(t, err)
	assert.True(t, things[0].covered(field))
	assert.False(t, things[1].covered(field))
}
