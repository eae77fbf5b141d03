package contour

import (
	"encoding/json"
	"encoding/xml"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ringed is a disc of radius 20 with a hole of radius 8, a disc of radius 4 in the hole, and a
// small one apart.
func ringed() Lines {
	v := cone(100, 64, 32, 32, 20)
	for i, inner := range cone(100, 64, 32, 32, 8) {
		v[i] = min(v[i], 1-inner)
	}
	for i, least := range cone(100, 64, 32, 32, 4) {
		v[i] = max(v[i], least)
	}
	for i, apart := range cone(100, 64, 80, 20, 6) {
		v[i] = max(v[i], apart)
	}
	return Trace(v, 100, 64, 0.5, 0.05)
}

// shoelace is the signed area of a ring.
func shoelace(points []Point) (area float64) {
	for i := 1; i < len(points); i++ {
		area += (points[i-1][0]*points[i][1] - points[i][0]*points[i-1][1]) / 2
	}
	return area
}

func TestPolygonsHaveTheirHoles(t *testing.T) {
	polygons := ringed().Polygons()
	require.Len(t, polygons, 3)
	sizes := map[int]float64{}
	for _, p := range polygons {
		for _, points := range p {
			assert.Equal(t, points[0], points[len(points)-1], "closed")
		}
		assert.Positive(t, shoelace(p[0]))
		sizes[len(p)] += shoelace(p[0])
		if len(p) == 2 {
			assert.InDelta(t, -math.Pi*64, shoelace(p[1]), 3)
		}
	}
	assert.InDelta(t, math.Pi*400, sizes[2], 8, "the ring alone has a hole")
	assert.InDelta(t, math.Pi*(16+36), sizes[1], 3)
}

func TestGeoJSON(t *testing.T) {
	text, err := GeoJSON(100, 64, []Figure{
		{Structure: "disc", By: "consensus", Corrected: true, Lines: ringed()},
		{Structure: "cup", By: "consensus", Lines: Trace(cone(100, 64, 32, 32, 9), 100, 64, 0.5, 0)},
		{Structure: "none", By: "rater 1"},
	})
	require.NoError(t, err)
	var got struct {
		Type     string
		Features []struct {
			Type       string
			Properties map[string]any
			Geometry   *struct {
				Type        string
				Coordinates json.RawMessage
			}
		}
	}
	require.NoError(t, json.Unmarshal(text, &got))
	require.Len(t, got.Features, 3)
	assert.Equal(t, map[string]any{"structure": "disc", "by": "consensus", "corrected_by_hand": true, "image_width": 100., "image_height": 64., "units": "pixels, y down"}, got.Features[0].Properties)
	assert.Equal(t, "MultiPolygon", got.Features[0].Geometry.Type)
	assert.Equal(t, "Polygon", got.Features[1].Geometry.Type)
	var rings [][]Point
	require.NoError(t, json.Unmarshal(got.Features[1].Geometry.Coordinates, &rings))
	assert.InDelta(t, math.Pi*81, shoelace(rings[0]), 2)
	assert.Nil(t, got.Features[2].Geometry)
}

func TestSVG(t *testing.T) {
	text := SVG(100, 64, []Figure{{Structure: `<&"`, By: "rater\x01 1", Corrected: true, Lines: ringed()}, {Structure: "cup", By: "consensus"}})
	var got struct {
		ViewBox string `xml:"viewBox,attr"`
		Paths   []struct {
			D     string `xml:"d,attr"`
			Title string `xml:"title"`
		} `xml:"path"`
	}
	require.NoError(t, xml.Unmarshal(text, &got))
	assert.Equal(t, "0 0 100 64", got.ViewBox)
	require.Len(t, got.Paths, 2)
	assert.Equal(t, `<&", rater 1, corrected by hand`, got.Paths[0].Title)
	assert.Equal(t, 4, strings.Count(got.Paths[0].D, "M"), "four lines")
	assert.Equal(t, 4, strings.Count(got.Paths[0].D, "Z"))
	assert.Empty(t, got.Paths[1].D)
}
