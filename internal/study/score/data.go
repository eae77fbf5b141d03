// Package score compares maps with marks and with the truth, and chooses the images to score.
package score

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"mrprism/internal/command"
	"mrprism/internal/data/dataset"
	"mrprism/weights"
)

// Parts are the values of -on.
var Parts = []string{"test", "validation", "train", "all"}

// PartNames are parts for people.
const PartNames = "test, validation, train or all"

// OpenDivided opens data sets, divided as a split's file says; an empty file: as their folders say.
func OpenDivided(split string, folders ...string) (*dataset.Dataset, error) {
	data, err := dataset.Open(folders...)
	if err == nil && split != "" {
		err = data.Divide(split)
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}

// PartOf is a part of a data set's images. An empty part is an error.
func PartOf(d *dataset.Dataset, on string) ([]dataset.Case, error) {
	cases := map[string][]dataset.Case{"test": d.HeldOut(), "validation": d.Validation(), "train": d.Training(), "all": d.Cases}[on]
	switch {
	case len(cases) > 0:
		return cases, nil
	case len(d.Splits) > 0:
		return nil, fmt.Errorf("%s: its split has no images for %s; list some, or give another -on", d.Name, on)
	case on == "validation":
		return nil, fmt.Errorf("%s has no split, and without one there are no validation images: write %s, or name a file by -split", d.Name, dataset.SplitFile)
	}
	return nil, fmt.Errorf("%s: no images for %s; every fifth image is held out: give at least %d images, or -on all", d.Name, on, dataset.HoldOut)
}

// AsError is the problems as an error; nil without problems.
func AsError(problems dataset.Problems) error {
	if len(problems) == 0 {
		return nil
	}
	return problems
}

// CheckImages reads every image, mask and truth, and every other picture, once before the long computation begins. The error is a
// dataset.Problems that names every bad file, or that of ctx.
func CheckImages(ctx context.Context, cases []dataset.Case, pictures, classes []string, stderr io.Writer) error {
	progress := command.NewProgress(stderr, len(cases)+len(pictures))
	defer progress.Clear()
	var problems dataset.Problems
	for few := range slices.Chunk(cases, runtime.GOMAXPROCS(0)) {
		progress.Show("%s: reading", few[0].Name)
		_, bad, err := dataset.LoadSound(ctx, few, nil)
		if err != nil {
			return err
		}
		problems = append(problems, bad...)
		for _, c := range few {
			progress.Begin()
			for _, class := range classes {
				if _, err := ReadTruth(c, class); err != nil {
					problems = append(problems, err.Error())
				}
			}
		}
	}
	for _, path := range pictures {
		if err := ctx.Err(); err != nil {
			return err
		}
		progress.Begin()
		progress.Show("%s: reading", path)
		if _, err := command.ReadImage(path); err != nil {
			problems = append(problems, err.Error())
		}
	}
	return AsError(problems)
}

// SameRaters reports whether the data has the model's raters, in the same order.
func SameRaters(about *weights.Metadata, data *dataset.Dataset) bool {
	return slices.Equal(about.Raters, data.Raters) && (about.Labels == weights.LabelsAgreementLevels) == data.Levels
}

// OtherRaters says what the program leaves out if sameRaters is false.
func OtherRaters(about *weights.Metadata, data *dataset.Dataset) string {
	labels := weights.LabelsRaters
	if data.Levels {
		labels = weights.LabelsAgreementLevels
	}
	return fmt.Sprintf("%s has heads of %s %s, and the data has marks of %s %s: what compares heads with raters is left out", about.Name,
		about.Labels, strings.Join(about.Raters, ", "), labels, strings.Join(data.Raters, ", "))
}
