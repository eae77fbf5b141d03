package weights

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// described lists the metadata that say what a file's tensors compute and how their masks are used.
// Mean refuses files that differ in one of them.
var described = []string{
	"configuration", "recipe", "classes", "raters", "labels", "anchor", "orientation", "nesting", "pieces", "mirrored", "side", "normalisation", "layout",
}

// Mean is the element-wise mean, as float32, of the weights of runs that began from the same
// weights. This is a model soup (Wortsman et al. 2022, "Model soups: averaging weights of multiple
// fine-tuned models improves accuracy without increasing inference time") or the mean of a model
// and its fine-tuned version (Wortsman et al. 2022, "Robust fine-tuning of zero-shot models").
// Float16 and int8 weights count as the float32 values that they stand for. Runs that began from
// different weights share no basin: Mean refuses them, because their mean is of no use.
//
// The metadata are those of the first file, without its measurements: metrics, ranges, trust and
// the colours of older files. The key data joins the data of all files, and mean_of lists their
// content sums. An error names two files (by names) and says in what they differ.
func Mean(names []string, files []*File) (*File, error) {
	var sums []string
	stored := files
	files = make([]*File, len(stored))
	for i, f := range stored {
		sum := cmp.Or(f.Metadata[contentKey], f.ContentSum()) // of the file on disk
		if slices.Contains(sums, sum) {
			return nil, fmt.Errorf("%s has the same weights as one before it", names[i])
		}
		sums = append(sums, sum)
		var err error
		if files[i], err = Dequantize(f); err != nil {
			return nil, fmt.Errorf("%s: %w", names[i], err)
		}
	}
	first := files[0]
	out := &File{Metadata: maps.Clone(first.Metadata)}
	specs := make([]Spec, len(first.Tensors))
	for i, t := range first.Tensors {
		specs[i] = Spec{t.Name, t.Shape}
	}
	var data []string
	for i, f := range files {
		for _, key := range described {
			if f.Metadata[key] != first.Metadata[key] {
				return nil, fmt.Errorf("%s has %s %q, %s has %q: they have no mean", names[i], key, f.Metadata[key], names[0], first.Metadata[key])
			}
		}
		if err := f.Match(specs); err != nil {
			return nil, fmt.Errorf("%s beside %s: %w", names[i], names[0], err)
		}
		if text := f.Metadata["data"]; text != "" && !slices.Contains(data, text) {
			data = append(data, text)
		}
	}
	panels, err := meanPanels(names, files)
	if err = cmp.Or(err, related(names, files)); err != nil {
		return nil, err
	}
	for _, t := range first.Tensors {
		total := make([]float64, t.Elements())
		for i, f := range files {
			values, err := f.Tensor(t.Name).Float32()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", names[i], err)
			}
			for j, v := range values {
				total[j] += float64(v)
			}
		}
		mean := make([]float32, len(total))
		for j, v := range total {
			mean[j] = float32(v / float64(len(files)))
		}
		out.Tensors = append(out.Tensors, NewF32(t.Name, t.Shape, mean))
	}
	list, err := json.Marshal(sums)
	if err != nil {
		return nil, err
	}
	out.Metadata["mean_of"], out.Metadata["metrics"], out.Metadata["data"] = string(list), "{}", strings.Join(data, " + ")
	for _, key := range []string{"ranges", "trust", "colours"} {
		delete(out.Metadata, key)
	}
	if panels != nil {
		out.Metadata["panels"] = asJSON(panels)
	}
	return out, nil
}

// leastCosine is the least cosine between the weights of two files that began from the same
// weights. Such runs of ours have 0.92 and more; runs with different seeds have 0.00.
const leastCosine = 0.1

// related refuses files whose weights are at right angles to those of the first file.
func related(names []string, files []*File) error {
	for i, f := range files[1:] {
		product, one, other := 0., 0., 0.
		for _, t := range files[0].Tensors {
			if len(t.Shape) < 2 {
				continue // gains and variances are similar in any two networks
			}
			x, err := t.Float32()
			if err != nil {
				return fmt.Errorf("%s: %w", names[0], err)
			}
			y, err := f.Tensor(t.Name).Float32()
			if err != nil {
				return fmt.Errorf("%s: %w", names[i+1], err)
			}
			for j := range x {
				product += float64(x[j]) * float64(y[j])
				one += float64(x[j]) * float64(x[j])
				other += float64(y[j]) * float64(y[j])
			}
		}
		if cosine := product / math.Sqrt(one*other); cosine < leastCosine {
			return fmt.Errorf("%s and %s began from different random weights: the cosine between them is %.2f, and their mean is of no use. "+
				"Begin the second run from the weights of the first one", names[0], names[i+1], cosine)
		}
	}
	return nil
}
