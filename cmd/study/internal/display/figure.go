package display

import (
	"math"
	"strconv"
	"strings"

	"mrprism/internal/data/metric"
	"mrprism/internal/study/report"
)

// Figure is a number of an item, such as a structure in an image: how it is called and written,
// and how it is computed. A study keeps its figures in a table; a new one is an entry.
type Figure[T any] struct {
	CSV, Path, Title string // in a CSV, a Tree and a Table; empty: it is not there
	Scale            float64
	Digits           int
	Signed           bool            // a difference
	Always           bool            // listed also where no image defines it
	Partial          bool            // listed only where an image does not define it
	Items            string          // the path of how many items define it; empty: it is not there
	Of               func(T) float64 // NaN where it is not defined
}

// Range is that of a mean of the figure: shares and their differences, and numbers of 0 or more.
func (f Figure[T]) Range() (least, most float64) {
	switch {
	case f.Signed:
		return -1, 1
	case f.Scale == 100:
		return 0, 1
	}
	return 0, math.Inf(1)
}

// Text writes a mean and its interval; a dash for nil.
func (f Figure[T]) Text(i *metric.Interval) string {
	if f.Signed {
		return report.Signed(i, f.Scale, f.Digits)
	}
	return report.Plain(i, f.Scale, f.Digits)
}

// Tree is an object of a JSON.
type Tree map[string]any

// Put puts a value at a path of names with dots between them. The last name "-" adds to a list.
func (t Tree) Put(path string, value any) {
	name, rest, within := strings.Cut(path, ".")
	switch {
	case !within:
		t[name] = value
	case rest == "-":
		list, _ := t[name].([]any)
		t[name] = append(list, value)
	default:
		if t[name] == nil {
			t[name] = Tree{}
		}
		t[name].(Tree).Put(rest, value)
	}
}

// PValue writes a p-value with two digits.
func PValue(p float64) string {
	if p < 1e-4 {
		return "< 0.0001"
	}
	return strconv.FormatFloat(math.Round(p*1e4)/1e4, 'f', -1, 64)
}
