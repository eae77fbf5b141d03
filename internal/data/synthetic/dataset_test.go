//go:build !js

package synthetic

import (
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"mrprism/internal/data/dataset"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWriteDataset(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "new", "data")
	sc := mustScenario(t, "sectoral")
	const n, side = 2, 48
	require.NoError(t, WriteDataset(t.Context(), folder, *sc, n, side, 5))

	text, err := os.ReadFile(filepath.Join(folder, "dataset.json"))
	require.NoError(t, err)
	var description struct {
		Name, Labels    string
		Classes, Raters []string
		Images          int
	}
	require.NoError(t, json.Unmarshal(text, &description))
	assert.Equal(t, "synthetic-sectoral", description.Name)
	assert.Equal(t, "raters", description.Labels)
	assert.Equal(t, []string{"disc", "cup"}, description.Classes)
	assert.Equal(t, []string{"rater1", "rater2", "rater3", "rater4"}, description.Raters)
	assert.Equal(t, n, description.Images)

	c := sc.Case(5, 1, side)
	calibrated := c.Scene.Calibrated(sc.Raters, Cup)
	for m, r := range description.Raters {
		for k, class := range description.Classes {
			img := open(t, folder, "raters", r, class, "case0001.png")
			for i, marked := range c.Labels[m][k] {
				require.Equal(t, color.Gray{Y: map[bool]uint8{true: 255}[marked]}, img.At(i%side, i/side))
			}
		}
	}
	truth, map16 := open(t, folder, "truth", "disc", "case0001.png"), open(t, folder, "calibrated", "cup", "case0001.png")
	for i, inside := range c.Scene.Truth(Disc) {
		require.Equal(t, color.Gray{Y: map[bool]uint8{true: 255}[inside]}, truth.At(i%side, i/side))
		require.InDelta(t, calibrated[i], float64(map16.At(i%side, i/side).(color.Gray16).Y)/65535, 1.0/65535)
	}
	picture := open(t, folder, "images", "case0001.png")
	assert.Equal(t, c.Scene.Image().RGBAAt(5, 7), color.RGBAModel.Convert(picture.At(5, 7)))
	assert.ErrorContains(t, WriteDataset(t.Context(), folder, *sc, n, side, 5), "not empty")
}

// TestWriteChangingPanels: whoever does not mark an image has no file of it, and the data set says
// that these masks are missing.
func TestWriteChangingPanels(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	sc := mustScenario(t, "changing-panels")
	require.NoError(t, WriteDataset(t.Context(), folder, *sc, 6, 32, 5))
	d, err := dataset.Open(folder)
	require.NoError(t, err)
	require.Len(t, d.Cases, 6)
	missing := 0
	for i, c := range d.Cases {
		for m, labels := range sc.Case(5, i, 32).Labels {
			for k := range Classes {
				require.Equal(t, labels == nil, c.Masks[m][k] == "")
				if labels == nil {
					missing++
				}
			}
		}
	}
	assert.Len(t, d.Missing, missing)
}

func open(t *testing.T, parts ...string) image.Image {
	t.Helper()
	f, err := os.Open(filepath.Join(parts...))
	require.NoError(t, err)
	defer f.Close()
	img, err := png.Decode(f)
	require.NoError(t, err)
	return img
}
