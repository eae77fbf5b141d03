package train

import (
	"fmt"
	"math"

	"mrprism/model"
)

// scaling is the factor of the loss that keeps small gradients from vanishing in f16 (Micikevicius
// et al. 2018). When a gradient is too large for f16, the step makes no update and the scale is
// halved. After goodSteps good steps in a row it is doubled. Numbers and rule are those of
// PyTorch's GradScaler. Checkpoints contain it. In f32 it is always 1.
type scaling struct {
	Scale   float64
	Good    int // steps since the scale changed; 0 in f32
	Skipped int // steps without an update
}

const goodSteps = 2000

// noScaling is the scaling of f32. In f16, a scale of 1 comes with Skipped steps.
var noScaling = scaling{Scale: 1}

// newScaling is the scaling of a run's first step.
func newScaling(p model.Precision) scaling {
	if p == model.F16 {
		return scaling{Scale: model.LossScale}
	}
	return noScaling
}

// next is the scaling after a step whose scaled gradients were finite or not.
func (s scaling) next(finite bool) (scaling, error) {
	switch {
	case !finite && s.Scale <= 1:
		return s, ErrDiverged
	case !finite:
		return scaling{Scale: s.Scale / 2, Skipped: s.Skipped + 1}, nil
	case s == noScaling:
		return s, nil
	case s.Good+1 == goodSteps:
		return scaling{Scale: 2 * s.Scale, Skipped: s.Skipped}, nil
	}
	s.Good++
	return s, nil
}

// String is the form in a checkpoint.
func (s scaling) String() string { return fmt.Sprintf("%v %d %d", s.Scale, s.Good, s.Skipped) }

// parseScaling reads the form in a checkpoint.
func parseScaling(text string) (s scaling, err error) {
	if n, _ := fmt.Sscan(text, &s.Scale, &s.Good, &s.Skipped); n != 3 || !(s.Scale > 0) || s.Good < 0 || s.Skipped < 0 {
		return s, fmt.Errorf("the loss scale %q is not a scale and two counts", text)
	}
	return s, nil
}

// finite says whether v is neither NaN nor infinite.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
