package fusion

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"mrprism/internal/data/dataset"
	"mrprism/internal/data/metric"
	"mrprism/internal/data/statistics"
	"mrprism/internal/data/synthetic"
)

// On real crowds and on drawn panels Edges, which learned from the other four fifths, is behind the
// majority by .2 Dice at most. weights/shipped/study/fusion.md has the table.
func TestEdgesBesideMajority(t *testing.T) {
	data := filepath.Join("..", "..", "..", "..", "shared", "data")
	folders := map[string]string{"bubil-crowd": filepath.Join(data, "bubil-crowd"), "bubil-fluo": filepath.Join(data, "bubil-fluo")}
	if found, _ := filepath.Glob(filepath.Join(data, "bubil-*")); len(found) == 0 || testing.Short() {
		t.Skip("no crowds: ../shared/data is missing; or -short")
	}
	for _, s := range synthetic.Scenarios {
		folders[s.Name] = t.TempDir()
		require.NoError(t, synthetic.WriteDataset(t.Context(), folders[s.Name], s, 40, 64, 60))
	}
	for name, folder := range folders {
		set, err := dataset.Open(folder)
		require.NoError(t, err)
		for k, class := range set.Classes {
			besideMajority(t, name, set, k, class)
		}
	}
}

func besideMajority(t *testing.T, name string, set *dataset.Dataset, k int, class string) {
	type image struct {
		*dataset.Loaded
		marks [][]uint8
		truth []uint8
	}
	const folds = 5
	var images []image
	var all Edges
	var learned [folds]Edges
	for i, c := range set.Cases {
		l, err := dataset.Load(c)
		require.NoError(t, err)
		truth, err := c.Truth(class)
		require.NoError(t, err)
		marks := l.ByRater(k)
		for m, rater := range set.Raters {
			if strings.HasPrefix(rater, "expert") {
				marks[m] = nil
			}
		}
		images = append(images, image{l, marks, truth})
		before := len(all.gains)
		all.Add(marks, l.Image.Pix, l.Image.W, 0)
		for f := range folds {
			if f != i%folds {
				learned[f].gains = append(learned[f].gains, all.gains[before:]...)
			}
		}
	}
	all.Learn()
	dice := map[string][]float64{}
	for i, l := range images {
		e := &learned[i%folds]
		e.Learn()
		most := Majority(l.marks).Map
		mask := make([]uint8, len(most))
		for i, v := range most {
			mask[i] = uint8(v)
		}
		add := func(name string, fused []float64) {
			dice[name] = append(dice[name], 100*(overlap(l.truth, fused)-overlap(l.truth, most)))
		}
		dice["majority"] = append(dice["majority"], 100*overlap(l.truth, most))
		add("edges", e.Fuse(l.marks, l.Image.Pix, l.Image.W).Map)
		add("edges everywhere", helping().Fuse(l.marks, l.Image.Pix, l.Image.W).Map)
		distances := metric.Signed(mask, l.Image.W, 3)
		for pixels, name := range []string{"", "eroded by 1", "eroded by 2"} {
			if eroded := make([]float64, len(most)); pixels > 0 {
				for i, d := range distances {
					if float64(d) > float64(pixels) {
						eroded[i] = 1
					}
				}
				add(name, eroded)
			}
		}
	}
	said := name + ", " + class
	for _, method := range []string{"majority", "eroded by 1", "eroded by 2", "edges", "edges everywhere"} {
		said += "; " + method + " " + statistics.Interval(dice[method]).Text("%+.*f", 1, 2)
	}
	t.Log(said + "; left-out raters " + all.Gain.Text("%+.*f", 100, 2))
	require.Greater(t, metric.Mean(dice["edges"]), -.2, said)
}
