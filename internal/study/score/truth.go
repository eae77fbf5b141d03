package score

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"mrprism/internal/data/dataset"
	"mrprism/internal/data/metric"
)

// TruthScore compares probabilities with the truth.
type TruthScore struct {
	Dice float64 `json:"dice"` // of the pixels above one half
	// Brier: mean squared error in the union of truth and marks: lower is better; 0 if the union is
	// empty
	Brier float64 `json:"brier"`
}

// Truth is the true mask of a structure (H, W) of 0 and 1, and its union with all marks.
type Truth struct{ Mask, region []uint8 }

func NewTruth(mask []uint8, votes metric.Votes) Truth {
	region := votes.Union()
	for i, v := range mask {
		region[i] |= v
	}
	return Truth{mask, region}
}

func (t Truth) Score(p []float32) TruthScore {
	c := metric.NewCalibration(1)
	c.Add(p, metric.Count(t.Mask), t.region)
	s := TruthScore{Dice: metric.Dice(p, t.Mask)}
	if metric.Area(t.region) > 0 {
		s.Brier = c.Brier()
	}
	return s
}

// ReadTruth reads truth/CLASS/NAME.png beside the images' folder, (H, W) of 0 and 1; nil if there
// is no such file.
func ReadTruth(c dataset.Case, class string) ([]uint8, error) {
	path := dataset.MaskFile(filepath.Join(filepath.Dir(filepath.Dir(c.Image)), "truth", class), c.Name)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return c.Mask(path)
}
