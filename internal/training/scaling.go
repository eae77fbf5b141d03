package training

import (
	"fmt"
	"math"

	"mrprism/model"
)

// scaling is what the loss is multiplied by before its gradients are taken, so that the small ones among them are not lost in f16, and how it
// has fared (Micikevicius et al. 2018): halved where a gradient was too large for f16, which leaves that step without an update, and doubled after
// many steps in which none was. Numbers and rule are those of PyTorch's GradScaler. Checkpoints hold it. In f32 it is 1 and stays so.
type scaling struct {
	Scale   float64
	Good    int // steps since it changed, or since the beginning; in f32 none are counted
	Skipped int // steps without an update
}

// goodSteps is after how many good steps in a row the scale is doubled.
const goodSteps = 2000

// plain is that of f32; in f16 a scale of 1 is one that was halved, in skipped steps.
var plain = scaling{Scale: 1}

// newScaling is that of a run's first step.
func newScaling(p model.Precision) scaling {
	if p == model.F16 {
		return scaling{Scale: model.LossScale}
	}
	return plain
}

// after is what follows a step whose gradients, multiplied by the scale, were finite or not.
func (s scaling) after(finite bool) (scaling, error) {
	switch {
	case !finite && s.Scale <= 1:
		return s, ErrDiverged
	case !finite:
		return scaling{Scale: s.Scale / 2, Skipped: s.Skipped + 1}, nil
	case s == plain:
		return s, nil
	case s.Good+1 == goodSteps:
		return scaling{Scale: 2 * s.Scale, Skipped: s.Skipped}, nil
	}
	s.Good++
	return s, nil
}

// String is what a checkpoint says.
func (s scaling) String() string { return fmt.Sprintf("%v %d %d", s.Scale, s.Good, s.Skipped) }

// parseScaling reads it.
func parseScaling(text string) (s scaling, err error) {
	if n, _ := fmt.Sscan(text, &s.Scale, &s.Good, &s.Skipped); n != 3 || !(s.Scale > 0) || s.Good < 0 || s.Skipped < 0 {
		return s, fmt.Errorf("loss scale %q", text)
	}
	return s, nil
}

// finite says whether v is a number.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
