package site

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/output/masks"
	"mrprism/weights"
)

// zipped presses the button of a name and returns the files of the ZIP that it saves.
func (p *page) zipped(button, file string) map[string][]byte {
	p.t.Helper()
	data := p.save(button, file)
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	require.NoError(p.t, err)
	files := map[string][]byte{}
	for _, f := range archive.File {
		in, err := f.Open()
		require.NoError(p.t, err)
		files[f.Name], err = io.ReadAll(in)
		require.NoError(p.t, err)
	}
	return files
}

// readers are what the page's result, which segmentIn has kept, says by each reader.
func (p *page) readers(d masks.Drawing) (all []masks.Drawing) {
	p.t.Helper()
	for m, by := range masks.Readers(d.Model.Metadata.Raters, d.Model.Metadata.Classes, d.Model.Metadata.Labels, false, false) {
		one := d
		if m > 0 {
			var values [][]float32
			for c := range 2 {
				bits := get[[]uint32](p, fmt.Sprintf(`(async () => Array.from(new Uint32Array((await r.rater(%d, %d)).buffer)))()`, m-1, c))
				floats := make([]float32, len(bits))
				for i, v := range bits {
					floats[i] = math.Float32frombits(v)
				}
				values = append(values, floats)
			}
			var err error
			one.Structures, err = masks.Structures(d.Picture.W, d.Picture.H, []string{"disc", "cup"}, values)
			require.NoError(p.t, err)
		}
		one.By = by.By
		all = append(all, one)
	}
	return all
}

// With the consensus the page saves each rater's or level's files in a ZIP. They are what
// cmd/segment writes of the same maps, to the byte, and say by whom they are.
func TestSavedReaders(t *testing.T) {
	t.Parallel()
	for labels, by := range map[string]string{weights.LabelsRaters: "guess of two", weights.LabelsAgreementLevels: "at least 2 of 4 experts"} {
		model, photograph := tinyWeights(t, labels, nil), photo(t, 240, 180)
		s := real(t, map[string][]byte{"w.safetensors": model, "photo.png.png": photograph})
		s.wishes = "?device=processor"
		p := open(t, s, 1000, 800)
		p.ready()
		p.saving()
		p.own("w.safetensors")
		all := p.readers(p.wholeImage("photo.png", photograph, model))
		p.click("save-each")
		for _, f := range []struct{ format, button, made, stem, ending string }{
			{"png", "Probability PNG of cup", "png", "photo_cup", ".png"}, {"tiff", "Mask TIFF of cup", "tiff-mask", "photo_cup", "_mask.tif"},
			{"nifti", "Probability NIfTI of cup", "nifti", "photo_cup", ".nii.gz"},
			{"svg", "Outlines SVG of all structures", "svg", "photo", ".svg"}, {"geojson", "Outlines JSON of all structures", "geojson", "photo", ".geojson"},
		} {
			p.format(f.format)
			zipName := f.stem + map[bool]string{true: "_mask"}[f.made == "tiff-mask"] + "_raters.zip"
			files := p.zipped(f.button, zipName)
			require.Len(t, files, 5, "%v", slices.Collect(maps.Keys(files)))
			for m, d := range all {
				name := f.stem + map[bool]string{true: "_" + d.Model.Metadata.Raters[max(m, 1)-1]}[m > 0] + f.ending
				require.Contains(t, files, name)
				structures := d.Structures
				if f.stem == "photo_cup" {
					structures = structures[1:]
				}
				equal(t, f.made, d, structures, files[name])
				if m == 2 && f.made != "png" && f.made != "nifti" { // NIfTI is packed, PNG says nothing
					assert.Contains(t, string(files[name]), by, name)
				}
			}
		}
		p.format("overlay")
		assert.False(t, p.visible("save-each"), "an overlay has what the stage shows")
		p.clean()
	}
}

// A rater's mask that a person corrected is saved so, and no other.
func TestSavedReadersOfCorrections(t *testing.T) {
	t.Parallel()
	p := correcting(t, "raters", 1200, 800)
	x, y, _ := p.middle()
	p.do(`(() => { const who = document.getElementById("correct-rater"); who.value = "rater2"; who.dispatchEvent(new Event("input", { bubbles: true })); })()`)
	p.tool("eraser")
	p.drag([2]float64{x - 40, y}, [2]float64{x + 40, y})
	p.until(`document.getElementById("correct-line").textContent.includes("Rater2")`)
	p.click("save-each")
	listed := string(p.save("Mask PNG of brain", "sample_brain_mask_corrected_raters.zip")) // the mock lists them
	require.Equal(t, 8, strings.Count(listed, "\n"))
	for m := 1; m <= 7; m++ {
		assert.Contains(t, listed, fmt.Sprintf("%s_brain_rater%d_mask%s.png ", map[bool]string{true: "drawn/sample", false: "guessed/sample"}[m == 2], m, map[bool]string{true: "_corrected"}[m == 2]))
	}
	assert.Contains(t, listed, "guessed/sample_brain_mask.png ")
	p.clean()
}
