package train

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// Card is a page about the exported model in Markdown: its data, raters by their codes, scores and
// limits. j is the judgement of it.
func (t *Trainer) Card(j *Judgement, day time.Time) string {
	o, d := t.Options, t.Dataset
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# %s\n", cmp.Or(o.Title, o.Name))
	line("| | |\n|---|---|")
	line("| trained | %s, %d steps, seed %d, recipe %s, network %s |", day.Format(time.DateOnly), t.step, o.Seed, o.Recipe.Name, o.Config)
	line("| by | MrPrism %s on %s |", o.Commit, computedOn(t.device.Info()))
	line("| compared with | %s |", j.With)
	line("| data | %s: %d images to learn from, %d held out |", d.Name, len(t.cases), len(d.HeldOut()))
	line("| structures | %s |", strings.Join(d.Classes, ", "))
	line("| raters | %s |", strings.Join(d.Raters, ", "))
	line("\n## Scores\n\n%s.\n", capital(j.Says))
	if j.Errors != nil {
		line("## Doubt, calibration and intervals\n\n%s\n", j.Errors.Text())
	}
	line("## Limits\n")
	line("- One data set taught it. Nobody knows how it does on pictures of another camera, clinic or disease.")
	if j.Groups < fewGroups {
		line("- Too few images were held out for a figure that can be relied upon.")
	}
	if j.Folds > 0 {
		line("- The scores are of %d runs that each learned from a part of the images. This model learned from all.", j.Folds)
	}
	if len(d.Raters) == 1 {
		line("- One person marked the images: it cannot know how people differ.")
	}
	if j.Errors == nil && t.of == nil {
		line("- It has no doubt, no calibration and no intervals: runs that each left a part of the images out would teach these, as `-cross 5` trains them.")
	}
	return b.String()
}

// capital is a sentence with its first letter as a capital.
func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
