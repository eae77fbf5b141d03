package segment

import (
	"slices"

	"mrprism/model"
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

// shifts are those of model.Inference.SetPanels, under the panels' own weights times those given
// (P). All given to one panel makes its mask, also if its own weight is 0.
func shifts(panels []weights.Panel, given []float32) (shown, each []float32) {
	shown = make([]float32, len(panels[0].Shift))
	if !equal(given) {
		total, sum := 0., make([]float64, len(shown))
		for p, panel := range panels {
			weight := max(panel.Weight, model.Lowest) * float64(given[p])
			total += weight
			for k, v := range panel.Shift {
				sum[k] += weight * v
			}
		}
		for k, v := range sum {
			shown[k] = float32(v / total)
		}
	}
	for _, panel := range panels {
		for k, v := range panel.Shift {
			each = append(each, float32(v)-shown[k])
		}
	}
	return shown, each
}
