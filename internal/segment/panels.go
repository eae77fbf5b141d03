package segment

import (
	"cmp"
	"slices"

	"mrprism/weights"
)

// Weighed are those whose weights are Options.RaterWeights: the panels, or the raters of a model
// without panels.
func Weighed(about *weights.Metadata) (names []string) {
	for _, p := range about.Panels {
		names = append(names, p.Name)
	}
	if names == nil {
		names = about.Raters
	}
	return names
}

// Labels says what the maps of the raters are: Maps.Labels.
func Labels(about *weights.Metadata) string {
	if len(about.Panels) > 0 && slices.Equal(Weighed(about), about.Raters) {
		return weights.LabelsPanels
	}
	return about.Labels
}

// weigh gives panels or raters their weights in the passes that follow.
func (e *Engine) weigh(weights []float32) error {
	if len(e.about.Panels) == 0 {
		return e.network.SetRaterWeights(weights)
	}
	return e.network.SetPanels(shifts(e.about.Panels, weights))
}

// shifts are those of model.Inference.SetPanels, under the weights given (P), or the panels' own if
// there are none.
func shifts(panels []weights.Panel, given []float32) (shown, each []float32) {
	total, sum := 0., make([]float64, len(panels[0].Shift))
	for p, weight := range given {
		total += float64(weight)
		for k, v := range panels[p].Shift {
			sum[k] += float64(weight) * v
		}
	}
	for _, v := range sum {
		shown = append(shown, float32(v/cmp.Or(total, 1)))
	}
	for _, panel := range panels {
		for k, v := range panel.Shift {
			each = append(each, float32(v)-shown[k])
		}
	}
	return shown, each
}
