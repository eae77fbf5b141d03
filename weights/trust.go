package weights

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
)

// Trust says when to believe the results of a model. "export -ranges" learns it from training
// images. Package trust makes and uses it.
type Trust struct {
	Images   int                 `json:"images"`   // from which it was learned
	Evidence map[string]Evidence `json:"evidence"` // by code
	// The score is the weighted sum of the evidence. A score above Threshold means doubt.
	Threshold float64             `json:"threshold"`
	Looks     map[string]Features `json:"looks"`          // views "whole" and "close"
	Maps      map[string]Map      `json:"maps,omitempty"` // by structure: probability to share of raters
	// Areas says, by structure, how far the logarithm of the majority's area lies outside the range
	// of the areas of mask and raters, before Maps is applied. Ratio says the same of the cup/disc
	// ratio.
	Areas map[string]Spread `json:"areas,omitempty"`
	Ratio *Spread           `json:"ratio,omitempty"`
	// Outlines says, by structure, how far an expert's outline lies from the mask's, before Maps is
	// applied. The unit is the radius of a circle with the outermost structure's area.
	Outlines map[string]Spread `json:"outlines,omitempty"`
	// FoldsOf is the number of cross-validation runs whose held-out images were used; 0: the images
	// are those that the weights were trained on.
	FoldsOf int `json:"foldsOf,omitempty"`
	// Cameras are the training data sets in which a structure is marked, such as the cup, that
	// another data set lacks.
	Cameras []Camera `json:"cameras,omitempty"`
	// Mirror is the largest usual distance between the ratios of an image and of its mirror image;
	// 0: not known.
	Mirror float64 `json:"mirror,omitempty"`
}

// Camera says how whole photographs of a training data set look to the encoder, and which
// structures they taught.
type Camera struct {
	Name    string   `json:"name"`    // of the data set
	Classes []string `json:"classes"` // structures that are marked here, and not in every data set
	Look    Features `json:"look"`
	Far     float64  `json:"far"` // the 95th percentile of the distances of images from a fit without them
	// Others are directions to the data sets in which none of Classes is marked.
	Others []Direction `json:"others,omitempty"`
}

// Direction is the direction in feature space that best tells a camera, at 0, from a data set of
// another camera, at 1 (Fisher 1936).
type Direction struct {
	To   string  `json:"to"`   // the other data set
	Away Digits  `json:"away"` // factors of scaled features, see Features
	Far  float64 `json:"far"`  // the 95th percentile of the camera's own images, each from a fit without it
}

// Evidence is the spread of one figure of a result over training images.
type Evidence struct {
	Middle float64 `json:"middle"` // median
	// Far is the 95th percentile of the distance from the median, or the least distance that counts
	// for this figure if that is more. It is above 0.
	Far    float64 `json:"far"`
	Weight float64 `json:"weight"` // in the score, at least 0
}

// Features describe the spread of encoder features, for Mahalanobis' distance (Lee et al. 2018):
// a mean, and the directions in which features vary most.
type Features struct {
	Mean       Digits  `json:"mean"`
	Scale      Digits  `json:"scale"`      // deviation of each feature
	Directions []byte  `json:"directions"` // (N, len(Mean)) signed bytes, of any length
	Deviations Digits  `json:"deviations"` // along each of the N directions, in scaled features
	Rest       float32 `json:"rest"`       // root mean square of the part outside of the directions
}

// Digits are values of which a file holds three significant digits.
type Digits []float32

// MarshalJSON writes the digits. A model of 7 MB would have 33 kB more with all of them.
func (d Digits) MarshalJSON() ([]byte, error) {
	text := []byte{'['}
	for _, v := range d {
		text = append(strconv.AppendFloat(text, float64(v), 'g', 3, 32), ',')
	}
	return append(bytes.TrimSuffix(text, []byte{','}), ']'), nil
}

// Map is monotone and piecewise linear: probability From[i] becomes To[i]. Both begin at 0 and end
// at 1.
type Map struct {
	From []float32 `json:"from"`
	To   []float32 `json:"to"`
}

// Spread says how far an interval reaches below and above a range. The interval then holds a share,
// Coverage, of the figures of images like those from which Spread was learned.
type Spread struct {
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	Coverage float64 `json:"coverage"` // 0..1
	// Low and High are for images of difficulty 1, the usual one. An image's difficulty is Base
	// plus the sum of figures of its result, by code, each times its factor in Signs. Without Signs
	// it is 1 for all images.
	Base  float64            `json:"base,omitempty"`
	Signs map[string]float64 `json:"signs,omitempty"`
}

// mostFaults is how many faults Faults lists: a file may have thousands.
const mostFaults = 10

// Faults lists wrong values.
func (t *Trust) Faults(classes []string) (faults []string) {
	fault := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, "trust: "+fmt.Sprintf(format, args...))
		}
	}
	fault(!(t.Threshold > 0) || math.IsInf(t.Threshold, 0), "threshold is %v", t.Threshold)
	for code, e := range t.Evidence {
		fault(!finite(e.Middle) || !(e.Far > 0) || !finite(e.Far) || !(e.Weight >= 0) || !finite(e.Weight), "evidence %s: %v", code, e)
	}
	looks := maps.Clone(t.Looks)
	for _, c := range t.Cameras {
		if looks == nil {
			looks = map[string]Features{}
		}
		looks["of camera "+c.Name] = c.Look
		fault(!(c.Far > 0) || !finite(c.Far), "camera %s: far is %v", c.Name, c.Far)
		for _, class := range c.Classes {
			fault(!slices.Contains(classes, class), "camera %s: %q is not a structure", c.Name, class)
		}
		for _, o := range c.Others {
			bad := len(o.Away) != len(c.Look.Mean) || !(o.Far > 0) || !finite(o.Far)
			for _, v := range o.Away {
				bad = bad || !finite(float64(v))
			}
			fault(bad, "camera %s: the direction to %s is not finite, or has another length than the look", c.Name, o.To)
		}
	}
	fault(!(t.Mirror >= 0) || !finite(t.Mirror), "mirrored views: %v", t.Mirror)
	for look, f := range looks {
		n, d := len(f.Deviations), len(f.Mean)
		bad := len(f.Scale) != d || len(f.Directions) != n*d || !(f.Rest > 0)
		fault(bad, "look %s: %d means, %d scales, %d directions of %d values", look, d, len(f.Scale), n, len(f.Directions))
		for row := 0; row < n && !bad; row++ {
			fault(!slices.ContainsFunc(f.Directions[row*d:][:d], func(v byte) bool { return v != 0 }), "look %s: a direction is zero", look)
		}
		for _, v := range append(slices.Clone(f.Scale), f.Deviations...) {
			fault(!(v > 0) || !finite(float64(v)), "look %s: deviation %v", look, v)
		}
		for _, v := range f.Mean {
			fault(!finite(float64(v)), "look %s: mean %v", look, v)
		}
	}
	for class, m := range t.Maps {
		fault(!slices.Contains(classes, class), "map of %q, which is not a structure", class)
		fault(!m.valid(), "map of %s is not monotone from 0 to 1", class)
	}
	for class, s := range t.Areas {
		fault(!slices.Contains(classes, class) || !s.valid(), "interval of the area of %s: %v", class, s)
	}
	fault(t.Ratio != nil && !t.Ratio.valid(), "interval of the ratio: %v", t.Ratio)
	for class, s := range t.Outlines {
		fault(!slices.Contains(classes, class) || !s.valid() || s.High > MostReach, "outlines of %s: %v", class, s)
	}
	slices.Sort(faults) // maps have no order
	return faults[:min(len(faults), mostFaults)]
}

func (m Map) valid() bool {
	n := len(m.From)
	if n < 2 || len(m.To) != n || m.From[0] != 0 || m.From[n-1] != 1 || m.To[0] != 0 || m.To[n-1] != 1 {
		return false
	}
	for i := 1; i < n; i++ {
		if !(m.From[i] > m.From[i-1]) || !(m.To[i] >= m.To[i-1]) {
			return false
		}
	}
	return true
}

// MostReach is the largest value that Trust.Outlines may have.
const MostReach = 2

func (s Spread) valid() bool {
	for _, factor := range s.Signs {
		if !(factor >= 0) || !finite(factor) {
			return false
		}
	}
	return finite(s.Base) && finite(s.Low) && finite(s.High) && s.Low <= s.High && s.Coverage > 0 && s.Coverage < 1
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
