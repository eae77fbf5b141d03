// Package input chooses and checks the images that a study takes.
package input

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"mrprism/internal/choice"
	"mrprism/internal/command"
	"mrprism/internal/data/dataset"
	"mrprism/internal/files/imageio"
	"mrprism/weights"
)

// Images are the images of data sets to score.
type Images struct {
	Data   string // DIR[,DIR]
	Split  string // file that divides them; empty: as their folders say
	On     string // the part: test, validation, train or all
	Region string // that networks see: none, the whole image, or auto, which searches the image first
}

// Check returns an error if the part or the region is none.
func (i Images) Check() error {
	switch {
	case !slices.Contains([]string{"test", "validation", "train", "all"}, i.On):
		return choice.Errorf("$on %s: choose test, validation, train or all", i.On)
	case i.Region != "none" && i.Region != "auto":
		return choice.Errorf("$roi %s: choose none or auto", i.Region)
	}
	return nil
}

// Searched returns an error if a model is to search photographs and does not.
func (i Images) Searched(about *weights.Metadata) error {
	if i.Region == "auto" && about.Anchor == "" {
		return choice.Errorf("%s does not search photographs (it was trained without an anchor): leave $roi auto out", about.Name)
	}
	return nil
}

// Open opens the data sets and divides them.
func (i Images) Open() (*dataset.Dataset, error) {
	data, err := dataset.Open(strings.Split(i.Data, ",")...)
	if err == nil && i.Split != "" {
		err = data.Divide(i.Split)
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}

// Part is the part of the data sets that is scored. An empty part is an error.
func (i Images) Part(d *dataset.Dataset) ([]dataset.Case, error) {
	cases := map[string][]dataset.Case{"test": d.HeldOut(), "validation": d.Validation(), "train": d.Training(), "all": d.Cases}[i.On]
	switch {
	case len(cases) > 0:
		return cases, nil
	case len(d.Splits) > 0:
		return nil, choice.Errorf("%s: its split has no images for %s; list some, or give another $on", d.Name, i.On)
	case i.On == "validation":
		return nil, choice.Errorf("%s has no split, and without one there are no validation images: write %s, or name a file by $split", d.Name, dataset.SplitFile)
	}
	return nil, choice.Errorf("%s: no images for %s; every fifth image is held out: give at least %d images, or $on all", d.Name, i.On, dataset.HoldOut)
}

// CheckImages reads every image, mask and truth, and every other picture, once before the long
// computation begins. The error is a dataset.Problems that names every bad file, or that of ctx.
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
				if _, err := c.Truth(class); err != nil {
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
		if _, err := imageio.Read(path); err != nil {
			problems = append(problems, err.Error())
		}
	}
	return problems.AsError()
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
