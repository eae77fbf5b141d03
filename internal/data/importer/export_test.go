package importer

import (
	"encoding/json"
	"fmt"
	"image"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/data/dataset"
)

// exportable writes a data set of six images, two raters and a second reading. In one image bob has
// no cup; in another ann sees none.
func exportable(t *testing.T) string {
	dir := t.TempDir()
	put(t, []byte(`{"name":"mine","classes":["disc","cup"],"raters":["ann","bob","ann-again"]}`), dir, "dataset.json")
	for i := range 6 {
		name := fmt.Sprintf("eye%d.png", i)
		put(t, encoded(t, eye(40, 30, uint64(i)), ".png"), dir, "images", name)
		for r, rater := range []string{"ann", "bob", "ann-again"} {
			disc, cup := image.NewGray(image.Rect(0, 0, 40, 30)), image.NewGray(image.Rect(0, 0, 40, 30))
			for at := range disc.Pix {
				if (ellipse{18, 14 + float64(r), 11, 9}).at(at%40, at/40) < 1 {
					disc.Pix[at] = 255
				}
				if (ellipse{18, 14 + float64(r), 5, 4}).at(at%40, at/40) < 1 && !(i == 2 && r == 0) && at%7 > 0 {
					cup.Pix[at] = 255
				}
			}
			put(t, encoded(t, disc, ".png"), dir, "raters", rater, "disc", name)
			if i != 3 || rater != "bob" {
				put(t, encoded(t, cup, ".png"), dir, "raters", rater, "cup", name)
			}
		}
	}
	return dir
}

// What is exported is imported as it was.
func TestRoundTrip(t *testing.T) {
	source := exportable(t)
	want, masks := load(t, source)
	for _, layout := range []Layout{cocoFiles, nnunet} { // of which the last takes a mask away
		name := layout.Name
		form, err := FindForm(name)
		require.NoError(t, err)
		there, back := filepath.Join(t.TempDir(), "there"), filepath.Join(t.TempDir(), "back")
		left, err := form.Run(t.Context(), source, there, nil)
		require.NoError(t, err)
		if name == "nnunet" {
			assert.Equal(t, []Skip{{"labelsTr_bob/eye3.png", "lacks the cup, and a label map cannot say so"}}, left)
		} else {
			assert.Empty(t, left)
		}
		_, err = layout.Run(t.Context(), Options{Source: there, Destination: back})
		require.NoError(t, err)
		assert.False(t, dataset.Check(t.Context(), []string{back}, nil).Failed())
		d, got := load(t, back)
		assert.Equal(t, []string{"ann", "bob"}, d.Raters)
		assert.Equal(t, []string{"ann"}, d.Again)
		assert.Equal(t, want.Classes, d.Classes)
		require.Len(t, got, len(masks))
		for i := range got {
			if name == "nnunet" && i == 3 {
				masks[i].Masks[1][0] = nil // with his cup bob's disc is lost
			}
			assert.Equal(t, masks[i].Name, got[i].Name)
			assert.Equal(t, masks[i].Masks, got[i].Masks, "%s of %s", name, got[i].Name)
			assert.Equal(t, masks[i].Image.Pix, got[i].Image.Pix)
			assert.Equal(t, masks[i].Part, got[i].Part)
		}
		_, err = form.Run(t.Context(), source, there, nil)
		assert.ErrorContains(t, err, "is not empty")
	}
}

// nnU-Net reads a nested class as a region, in which order the classes are.
func TestExportOfNested(t *testing.T) {
	source := exportable(t)
	for _, classes := range []string{`["disc","cup"]`, `["cup","disc"]`} {
		put(t, []byte(`{"classes":`+classes+`,"raters":["ann","bob","ann-again"]}`), source, "dataset.json")
		there := filepath.Join(t.TempDir(), "there")
		_, err := Forms[1].Run(t.Context(), source, there, nil)
		require.NoError(t, err)
		text, err := os.ReadFile(filepath.Join(there, "dataset.json"))
		require.NoError(t, err)
		var about map[string]any
		require.NoError(t, json.Unmarshal(text, &about))
		outer, inner := 1., 2.
		if classes == `["cup","disc"]` {
			outer, inner = inner, outer
		}
		assert.Equal(t, map[string]any{"background": 0., "disc": []any{outer, inner}, "cup": []any{inner}}, about["labels"])
		assert.Equal(t, []any{outer, inner}, about["regions_class_order"])
		assert.Less(t, strings.Index(string(text), `"disc"`), strings.Index(string(text), `"cup"`), "the outer one comes first")
		assert.Equal(t, 5., about["numTraining"], "every fifth image is held out")
	}
}
