package trust

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"mrprism/internal/data/metric"
	"mrprism/weights"
)

// Codes of evidence. They are the reasons to doubt a result whose figures are far from those of
// results on training images.
const (
	NotFound   = "not-found"         // the structure is not in the picture
	Unfamiliar = "unfamiliar"        // encoder features of the whole picture
	Strange    = "unfamiliar-region" // encoder features of the region
	Unstable   = "unstable"          // whole picture, region and mirror image give different outlines
	Several    = "several"           // another place also looks like the structure
	Faint      = "faint"             // probabilities inside the mask are low
	Blurred    = "blurred"           // the mask has no sharp border
	Size       = "size"              // the structure's size in the picture
	Shape      = "shape"             // the structure is not an ellipse, or is long
	Inner      = "inner"             // size and place of the structure inside of it
	Quality    = "quality"           // the amount of detail in the picture
	Spot       = "spot"              // a flat spot on the structure or beside it; see Judge
	Range      = "range"             // the file shows a part of its values; no reason alone
	Mirror     = "mirror"            // how far the ratio of the mirror image lies from that of the image; see OfRatio
)

// kind describes a code.
type kind struct {
	code     string
	twoSided bool    // a figure that is too small counts too
	least    float64 // least Evidence.Far
	sentence string  // %s is the structure's name
}

// kinds stand in the order of reasons of equal weight.
var kinds = []kind{
	{Unfamiliar, false, .2, "This picture is unlike those that the model has learned from."},
	{Strange, false, .2, "What surrounds the %s is unlike what the model has learned from."},
	{Several, false, .2, "More than one place in this picture looks like a %s."},
	{Unstable, false, .05, "The outline changes when the model looks from nearer or at the mirror image."},
	{Faint, false, .02, "The %s can hardly be made out."},
	{Blurred, false, .3, "The border of the %s is not distinct."},
	{Size, true, .2, "What was found has an unusual size for a %s."},
	{Shape, true, .1, "What was found has an unusual shape for a %s."},
	{Inner, true, .1, "The parts of the %s have unusual proportions."},
	{Quality, true, .2, "The picture has unusually little or much detail."},
	{NotFound, false, 1, "No %s was found in this picture."},
	{Spot, false, 1, "A flat bright or dark spot lies on the %s or beside it."},
}

func kindOf(code string) kind {
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.code == code })
	if i < 0 {
		return kind{code: code, sentence: code} // a code of a later version
	}
	return kinds[i]
}

// Sentence is the reason in words. what is the structure's name.
func Sentence(code, what string) string { return strings.ReplaceAll(kindOf(code).sentence, "%s", what) }

// Figures are the figures of one result, by code. A code that does not apply is missing.
type Figures map[string]float64

// Reference is a result on a training image, or on a picture of another kind.
type Reference struct {
	Figures Figures
	Looks   map[string][]float32 // encoder features of each look
	Unit    int                  // of dataset.Units, the patient
	Part    int                  // from 0 to a few, equal for all results of one patient
	Wrong   bool                 // the structure is elsewhere, or not in the picture
}

// lookCode is the code of the features of a look.
var lookCode = map[string]string{"whole": Unfamiliar, "close": Strange}

// passed is the share of the right results on training images that must not be doubted.
const passed = 0.97

// Enough is the least number of values, or of patients with right results, that tell what is usual.
// The largest of eight is exceeded by the next one in a case of nine.
const Enough = 8

// Fit learns the spread of figures over the right results on training images. From the wrong
// results it learns the weight of each code. The features of an image are compared with a fit to
// images of other parts. Fit returns nil with right results of fewer than Enough patients.
func Fit(references []Reference) *weights.Trust {
	var right, wrong []Figures
	var unseen []Reference // the right ones
	units := map[int]bool{}
	for _, r := range references {
		if !r.Wrong {
			right, unseen, units[r.Unit] = append(right, maps.Clone(r.Figures)), append(unseen, r), true
		}
	}
	if len(units) < Enough {
		return nil
	}
	t := &weights.Trust{Images: len(right), Evidence: map[string]weights.Evidence{}, Looks: map[string]weights.Features{}}
	for look, code := range lookCode {
		learnLook(t, look, code, right, unseen)
	}
	for _, r := range references {
		if r.Wrong {
			wrong = append(wrong, withLooks(t, r.Figures, r.Looks))
		}
	}
	for _, k := range kinds {
		if e, ok := spread(right, k); ok {
			t.Evidence[k.code] = e
		}
	}
	weigh(t, right, wrong)
	scores := make([]float64, len(right))
	for i, f := range right {
		scores[i], _ = odd(t, f)
	}
	slices.Sort(scores)
	t.Threshold = 1.02*scores[min(len(scores)-1, int(math.Ceil(passed*float64(len(scores)+1)))-1)] + 1e-6
	return t
}

// learnLook fits the features of a look. It gives each right result its distance from a fit to the
// other parts.
func learnLook(t *weights.Trust, look, code string, right []Figures, references []Reference) {
	var features [][]float32
	var of, parts []int
	for i, r := range references {
		if l := r.Looks[look]; l != nil {
			features, of, parts = append(features, l), append(of, i), append(parts, r.Part)
		}
	}
	f, ok := NewFeatures(features)
	if !ok {
		return
	}
	distances, ok := Unseen(features, parts)
	if !ok {
		return
	}
	t.Looks[look] = f
	for i, at := range of {
		right[at][code] = distances[i]
	}
}

// withLooks returns the figures with the distances of a result's features.
func withLooks(t *weights.Trust, f Figures, looks map[string][]float32) Figures {
	with := Figures{}
	maps.Copy(with, f)
	for look, features := range looks {
		if known, ok := t.Looks[look]; ok {
			with[lookCode[look]] = Distance(known, features)
		}
	}
	return with
}

// spread is how a figure varies over the results that have it. ok is false if too few have it.
func spread(all []Figures, k kind) (e weights.Evidence, ok bool) {
	var values []float64
	for _, f := range all {
		if v, has := f[k.code]; has && !math.IsInf(v, 0) {
			values = append(values, v)
		}
	}
	if len(values) < Enough {
		return e, false
	}
	slices.Sort(values)
	e.Middle, e.Weight = metric.Quantile(values, .5), 1
	for i, v := range values {
		values[i] = k.away(v - e.Middle)
	}
	slices.Sort(values)
	e.Far = max(k.least, metric.Quantile(values, .95))
	return e, true
}

// away is the distance from the middle to the side that counts.
func (k kind) away(difference float64) float64 {
	if k.twoSided {
		return math.Abs(difference)
	}
	return max(0, difference)
}

// farthest limits the distance of one figure, in units of Far: a single figure must not decide
// alone.
const farthest = 6

// odd returns the score of figures, and the part of each figure in it.
func odd(t *weights.Trust, f Figures) (score float64, each map[string]float64) {
	each = map[string]float64{}
	for _, k := range kinds { // a fixed order gives the sum the same bits
		e, known := t.Evidence[k.code]
		v, has := f[k.code]
		if !known || !has {
			continue
		}
		far := k.away(v-e.Middle) / e.Far
		if !(far < farthest) { // also NaN
			far = farthest
		}
		each[k.code] = e.Weight * far
		score += each[k.code]
	}
	return score, each
}

// weigh sets the weight of each evidence by a logistic regression that tells wrong results from
// right ones, with weights of at least 0. Both groups count the same. If no result is wrong, all
// weights stay 1.
func weigh(t *weights.Trust, right, wrong []Figures) {
	if len(wrong) == 0 {
		return
	}
	var codes []string
	for _, k := range kinds {
		if _, ok := t.Evidence[k.code]; ok {
			codes = append(codes, k.code)
		}
	}
	var rows [][]float64
	for _, f := range slices.Concat(right, wrong) {
		_, each := odd(t, f)
		x := make([]float64, len(codes))
		for j, code := range codes {
			x[j] = each[code]
		}
		rows = append(rows, x)
	}
	beta, bias := make([]float64, len(codes)), 0.
	for range steps {
		slope, shift := make([]float64, len(codes)), 0.
		for i, x := range rows {
			sum, to, share := bias, 0., .5/float64(len(right))
			if i >= len(right) {
				to, share = 1, .5/float64(len(wrong))
			}
			for j, v := range x {
				sum += beta[j] * v
			}
			d := share * (1/(1+math.Exp(-sum)) - to)
			shift += d
			for j, v := range x {
				slope[j] += d * v
			}
		}
		bias -= rate * shift
		for j := range beta {
			beta[j] = max(0, beta[j]-rate*(slope[j]+ridge*beta[j]))
		}
	}
	for j, code := range codes {
		e := t.Evidence[code]
		e.Weight = math.Round(1000*beta[j]) / 1000
		t.Evidence[code] = e
	}
}

// weigh takes steps of gradient descent at a rate; more steps change nothing. The penalty, ridge,
// keeps weights finite if the groups do not overlap.
const (
	steps = 4000
	rate  = 0.5
	ridge = 0.002
)

// Most is the largest score that Judge gives.
const Most = 99

// spotted is the Spot above which a result is doubted, whatever its weights know: few training
// images have a spot that they could learn from (model/DECISIONS.md).
const spotted = 3e-4

// Judge returns the doubt score of a result, from 0 to Most, and the codes of the reasons, the
// largest first. A result is doubted if its score is above 1. looks are the encoder's features by
// look.
func Judge(t *weights.Trust, f Figures, looks map[string][]float32) (score float64, doubted []string) {
	sum, each := odd(t, withLooks(t, f, looks))
	score = min(Most, sum/t.Threshold)
	if f[Spot] > spotted {
		score, doubted = max(score, 1+f[Spot]), []string{Spot}
	}
	if !(sum > t.Threshold) {
		return score, doubted
	}
	for _, k := range kinds {
		if each[k.code] > t.Evidence[k.code].Weight && each[k.code] > tenth*sum {
			doubted = append(doubted, k.code)
		}
	}
	if len(doubted) == 0 { // no code alone is enough: take the largest
		doubted = append(doubted, slices.MaxFunc(kinds, func(a, b kind) int { return cmp.Compare(each[a.code], each[b.code]) }).code)
	}
	slices.SortStableFunc(doubted, func(a, b string) int { return cmp.Compare(each[b], each[a]) })
	return score, doubted[:min(len(doubted), reasons)]
}

// A reason has more than a tenth of the score. There are at most three.
const (
	tenth   = 0.1
	reasons = 3
)
