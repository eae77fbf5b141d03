package trust

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"mrprism/weights"
)

// Codes of evidence. A result that is far from those of training images in some of these is doubted
// for them.
const (
	NotFound   = "not-found"         // nothing of the kind is in the picture
	Unfamiliar = "unfamiliar"        // the encoder's features of the whole picture are unlike those of training images
	Strange    = "unfamiliar-region" // those of the region are
	Unstable   = "unstable"          // the whole picture, the region and its mirror image give different outlines
	Several    = "several"           // another place looks much like the structure too
	Faint      = "faint"             // probabilities inside the mask are low
	Blurred    = "blurred"           // the mask has no sharp border
	Size       = "size"              // the structure's size in the picture
	Shape      = "shape"             // its form: unlike an ellipse, or long
	Inner      = "inner"             // size and place of the structure inside it
	Quality    = "quality"           // how much detail the picture has
)

// kind is what is known of a code beforehand.
type kind struct {
	code     string
	twoSided bool    // the figure may be too small as well as too large
	least    float64 // of Evidence.Far: a smaller difference is none
	sentence string  // %s is the structure's name
}

// kinds in the order in which reasons are given where they weigh the same.
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
}

func kindOf(code string) kind {
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.code == code })
	if i < 0 {
		return kind{code: code, sentence: code} // of a later version
	}
	return kinds[i]
}

// Sentence is the reason for people; what is the structure's name.
func Sentence(code, what string) string { return strings.ReplaceAll(kindOf(code).sentence, "%s", what) }

// Figures are those of one result, by code. A code that does not apply is absent.
type Figures map[string]float64

// Reference is a result on a training image, or on a picture of another kind.
type Reference struct {
	Figures Figures
	Looks   map[string][]float32 // features of each look, of the weights that are to be judged
	Part    int                  // from 0 to a few; those of one image, cropped or not, have the same
	Wrong   bool                 // the structure is elsewhere, or not in the picture: to be doubted
}

// lookCode is the evidence that the features of a look give.
var lookCode = map[string]string{"whole": Unfamiliar, "close": Strange}

// passed is the share of the right results on training images that is not to be doubted.
const passed = 0.97

// enough is how many right results it takes.
const enough = 8

// Fit learns how right results on training images look, and from the wrong ones how much each sign
// of doubt counts. The distance of an image's features is from a fit without the images of its
// part. Fit returns nil if fewer than eight results are right.
func Fit(references []Reference) *weights.Trust {
	var right, wrong []Figures
	var unseen []Reference // that are right
	for _, r := range references {
		if !r.Wrong {
			right, unseen = append(right, maps.Clone(r.Figures)), append(unseen, r)
		}
	}
	if len(right) < enough {
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

// learnLook fits the features of a look and gives each right result its distance from a fit without
// its part.
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

// withLooks adds to figures the distances of a result's features.
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

// spread is how a figure varies over results that have it; not ok where too few have.
func spread(all []Figures, k kind) (e weights.Evidence, ok bool) {
	var values []float64
	for _, f := range all {
		if v, has := f[k.code]; has && !math.IsInf(v, 0) {
			values = append(values, v)
		}
	}
	if len(values) < enough {
		return e, false
	}
	slices.Sort(values)
	e.Middle, e.Weight = quantile(values, .5), 1
	for i, v := range values {
		values[i] = k.away(v - e.Middle)
	}
	slices.Sort(values)
	e.Far = max(k.least, quantile(values, .95))
	return e, true
}

// away is how far a figure is from the middle, to the side that counts.
func (k kind) away(difference float64) float64 {
	if k.twoSided {
		return math.Abs(difference)
	}
	return max(0, difference)
}

// quantile interpolates in sorted values.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 1 {
		return sorted[0]
	}
	at := q * float64(len(sorted)-1)
	i := min(int(at), len(sorted)-2)
	f := at - float64(i)
	return sorted[i]*(1-f) + sorted[i+1]*f
}

// farthest is where the distance of one figure ends, in units of Far: one alone does not say
// everything.
const farthest = 6

// odd is the score, and what each figure gives to it.
func odd(t *weights.Trust, f Figures) (score float64, each map[string]float64) {
	each = map[string]float64{}
	for _, k := range kinds { // in a fixed order, so that a sum is the same to the bit
		e, known := t.Evidence[k.code]
		v, has := f[k.code]
		if !known || !has {
			continue
		}
		far := k.away(v-e.Middle) / e.Far
		if !(far < farthest) { // what is no number is not near
			far = farthest
		}
		each[k.code] = e.Weight * far
		score += each[k.code]
	}
	return score, each
}

// weigh sets the weight of each evidence by a logistic regression with weights from 0 on, which
// tells wrong results from right ones. Both groups count the same. If nothing is wrong, all weights
// stay 1.
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

// Of the regression: enough steps of gradient descent that more change nothing, and a penalty that
// keeps weights finite where nothing is confused.
const (
	steps = 4000
	rate  = 0.5
	ridge = 0.002
)

// Most is the largest score that Judge gives.
const Most = 99

// Judge returns the doubt score of a result, from 0 to Most, and the codes of the reasons, the
// weightiest first. A result is doubted if its score is above 1. looks are the encoder's features
// by look.
func Judge(t *weights.Trust, f Figures, looks map[string][]float32) (score float64, doubted []string) {
	sum, each := odd(t, withLooks(t, f, looks))
	score = min(Most, sum/t.Threshold)
	if !(score > 1) {
		return score, nil
	}
	for _, k := range kinds {
		if each[k.code] > t.Evidence[k.code].Weight && each[k.code] > tenth*sum {
			doubted = append(doubted, k.code)
		}
	}
	if len(doubted) == 0 { // nothing by itself: what weighs most
		doubted = append(doubted, slices.MaxFunc(kinds, func(a, b kind) int { return cmp.Compare(each[a.code], each[b.code]) }).code)
	}
	slices.SortStableFunc(doubted, func(a, b string) int { return cmp.Compare(each[b], each[a]) })
	return score, doubted[:min(len(doubted), reasons)]
}

// A reason gives more than a tenth of the score, and there are three at most.
const (
	tenth   = 0.1
	reasons = 3
)
