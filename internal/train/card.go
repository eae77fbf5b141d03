package train

import (
	"fmt"
	"strings"
	"time"

	"mrprism/weights"
)

// Card is a page about the exported model in Markdown: its data, raters by their codes, scores and
// limits. about are the model's metadata, and j is the judgement of it; nil: nobody judged it.
func (t *Trainer) Card(about *weights.Metadata, j *Judgement, day time.Time) string {
	o, held := t.Options, len(t.Dataset.HeldOut())
	rows := [][2]string{
		{"held out", fmt.Sprintf("%d of %d images, which training never saw", held, held+len(t.cases)+len(t.aside))},
		{"trained", fmt.Sprintf("%s, %d steps, seed %d, recipe %s", day.Format(time.DateOnly), t.step, o.Seed, o.Recipe.Name)},
		{"by", fmt.Sprintf("MrPrism %s on %s", o.Commit, computedOn(t.device.Info()))},
	}
	limits := []string{"One data set taught it. Nobody knows how it does on pictures of another camera, clinic or disease."}
	limited := func(is bool, text string) {
		if is {
			limits = append(limits, text)
		}
	}
	sections := "## Scores\n\nNobody compared it with another model.\n"
	if j != nil {
		rows = append(rows, [2]string{"compared with", j.With})
		sections = fmt.Sprintf("## Scores\n\n%s.\n", capital(j.Says))
		limited(j.Groups < fewGroups, "Too few images were held out for a figure that can be relied upon.")
		limited(j.Folds > 0, fmt.Sprintf("The scores are of %d runs that each learned from a part of the images. This model learned from all.", j.Folds))
	}
	limited(len(t.Dataset.Raters) == 1, "One person marked the images: it cannot know how people differ.")
	if j != nil && j.Errors != nil {
		sections += fmt.Sprintf("\n## Doubt, calibration and intervals\n\n%s\n", j.Errors.Text())
	} else {
		limited(t.of == nil, "It has no doubt, no calibration and no intervals: runs that each left a part of the images out would teach these, as `-cross 5` trains them.")
	}
	return about.Draft(rows, sections, limits...)
}

// capital is a sentence with its first letter as a capital.
func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
