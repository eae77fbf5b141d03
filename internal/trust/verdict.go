package trust

import (
	"fmt"
	"math"
	"slices"

	"mrprism/internal/data/metric"
	"mrprism/weights"
)

// Words of trust, the best first.
const (
	Trusted  = "trusted"
	Check    = "check"
	DoNotUse = "do not use"
)

var words = []string{Trusted, Check, DoNotUse}

// Verdict is one word about a figure.
type Verdict struct {
	Word   string `json:"word"`             // Trusted, Check or DoNotUse
	Reason string `json:"reason,omitempty"` // a sentence for people; empty: trusted
}

// Worse is the worse of two verdicts.
func (v Verdict) Worse(other Verdict) Verdict {
	if slices.Index(words, other.Word) > slices.Index(words, v.Word) {
		return other
	}
	return v
}

// Case is what a verdict about a structure is decided from.
type Case struct {
	Class  string
	Anchor string    // the structure that is doubted
	Found  bool      // the structure is in the picture
	Doubt  *float64  // as Judge gives it; nil: the weights cannot tell
	Reason string    // the first reason to doubt
	Look   []float32 // encoder features of a whole photograph; nil: the picture shows little more than the region
	Fault  string    // why the photograph can hardly be graded, a sentence; empty: it can, or nobody knows
}

// Between is the least share of the length of a further expert's outline that outlines hold where
// they hold it.
const Between = 0.95

// hopeless is the doubt from which a result is not worth a check. Photographs up to familiar from a
// camera, in Away's units, are taken for its own, and those beyond remote for another's. Between
// these lie a few of either (model/DECISIONS.md).
const (
	hopeless = 2
	familiar = 1.3
	remote   = 2
)

// FoldsToDoubtBy is the smallest number of folds with which the signs of doubt are those of the
// runs that had set the images aside. With fewer folds these runs differ too much from the model,
// and the signs are those of the images that the model learned from.
const FoldsToDoubtBy = 4

// Of decides about a structure. A structure inside the anchor falls with it.
func Of(t *weights.Trust, c Case) Verdict {
	if !c.Found {
		return Verdict{DoNotUse, fmt.Sprintf("No %s was found in this picture.", c.Class)}
	}
	if t == nil || c.Doubt == nil {
		return Verdict{Check, "These weights cannot tell whether a picture is of their kind."}
	}
	if *c.Doubt > 1 {
		word := Check
		if *c.Doubt > hopeless || c.Class != c.Anchor {
			word = DoNotUse
		}
		return Verdict{word, c.Reason}
	}
	away, distance, known := Away(t.Cameras, c.Class, c.Look)
	switch {
	case c.Fault != "" && (!known || away <= familiar):
		return Verdict{Check, c.Fault}
	case (!known || away <= familiar) && t.FoldsOf < FoldsToDoubtBy:
		return Verdict{Check, "These weights learned to doubt from the images that taught them."}
	case !known || away <= familiar:
		return Verdict{Word: Trusted}
	case c.Look == nil || away <= remote:
		return Verdict{Check, fmt.Sprintf("The camera cannot be told from this picture, and the %s was learned from a few cameras.", c.Class)}
	case distance > remote:
		return Verdict{DoNotUse, fmt.Sprintf("This photograph is far from the cameras whose %s was learned.", c.Class)}
	}
	return Verdict{Check, fmt.Sprintf("The %s of this camera was not learned.", c.Class)}
}

// OfRatio decides about the ratio of two structures from the verdicts about them. apart is how far
// the ratios of the image and of its mirror image lie apart; NaN: it is not known.
func OfRatio(t *weights.Trust, outer, inner Verdict, apart float64) Verdict {
	worst := outer.Worse(inner)
	if t != nil && t.Mirror > 0 && apart > t.Mirror {
		worst = worst.Worse(Verdict{Check, fmt.Sprintf("The ratio changes by %.2f when the model looks at the mirror image.", apart)})
	}
	return worst
}

// leastMirror is the smallest Mirror that NewMirror gives.
const leastMirror = 0.05

// NewMirror is Trust.Mirror of the differences on training images. With too few of them it is 0.
func NewMirror(apart []float64) float64 {
	if len(apart) < Enough {
		return 0
	}
	return math.Round(1000*max(leastMirror, metric.Quantile(slices.Sorted(slices.Values(apart)), near))) / 1000
}

// Widened is by how much intervals and outlines of a structure are widened: 1 on photographs as
// near as those of the cameras that taught it, and more with the distance. It is 0 where they are
// withheld: the structure is not to be used, or its camera is remote.
func Widened(t *weights.Trust, class string, look []float32, v Verdict) float64 {
	away, _, known := Away(t.Cameras, class, look)
	if !known || look == nil { // Of has said what that means
		away = 1
	}
	if v.Word == DoNotUse || away > remote {
		return 0
	}
	return max(1, away)
}
