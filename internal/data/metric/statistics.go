package metric

import (
	"fmt"
	"math"
	"slices"
)

// Interval is a mean with its 95 % interval, which is missing for fewer than two values.
type Interval struct {
	Mean float64  `json:"mean"`
	Low  *float64 `json:"low,omitempty"` // nil together with High
	High *float64 `json:"high,omitempty"`
	N    int      `json:"n,omitempty"` // values, such as one of each image or patient
}

// Within is the interval of a figure that lies between two values, such as 0 and 1.
func (i Interval) Within(least, most float64) Interval {
	if i.Low != nil {
		i.Low, i.High = new(max(*i.Low, least)), new(min(*i.High, most))
	}
	return i
}

// Clear says whether the interval is there, and holds no 0.
func (i *Interval) Clear() bool { return i.Low != nil && (*i.Low > 0 || *i.High < 0) }

// Fewest is the number of values, such as patients, from which on an interval is shown. Our tests
// of coverage begin at ten.
const Fewest = 8

// FewSaid explains what Text writes of fewer.
var FewSaid = fmt.Sprintf("[n = 5]: an interval of fewer than %d images, or groups of them (groups.csv), would tell too little", Fewest)

// Text writes the mean and the interval, scaled, each number by a form such as "%+.*f"; a dash for
// nil. In place of an interval of too few values it writes their number.
func (i *Interval) Text(form string, scale float64, digits int) string {
	number := func(v float64) string {
		if v *= scale; math.Abs(v) < 0.5*math.Pow10(-digits) {
			v = 0 // not −0
		}
		return fmt.Sprintf(form, digits, v)
	}
	switch {
	case i == nil:
		return "–"
	case 0 < i.N && i.N < Fewest:
		return fmt.Sprintf("%s [n = %d]", number(i.Mean), i.N)
	case i.Low == nil:
		return number(i.Mean)
	}
	return number(i.Mean) + " [" + number(*i.Low) + ", " + number(*i.High) + "]"
}

// Mean is the arithmetic mean; NaN without values.
func Mean(values []float64) (sum float64) {
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// Median is the middle value, or the mean of the middle two; NaN without values.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	return Quantile(slices.Sorted(slices.Values(values)), .5)
}

// Quantile interpolates linearly between the order statistics of sorted values.
func Quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

func square(x float64) float64 { return x * x }
