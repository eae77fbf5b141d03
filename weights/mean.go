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

// described are the metadata that say what a file's tensors compute and what is made of their masks, absent or ""; files that differ in one have no mean.
var described = []string{"configuration", "recipe", "classes", "raters", "labels", "anchor", "orientation", "nesting", "pieces", "mirrored", "side", "normalisation", "layout"}

// Mean is the element-wise mean, as float32, of the weights of runs that began from the same
// weights: a model soup (Wortsman et al. 2022, "Model soups: averaging weights of multiple
// fine-tuned models improves accuracy without increasing inference time"), or of a model and what
// went on from it (Wortsman et al. 2022, "Robust fine-tuning of zero-shot models"). Float16 and
// int8 weights count as the float32 that they stand for. The metadata are the first's, without what
// was measured on it alone: metrics, ranges, trust and the colours of older files. data names what
// each was trained on, and mean_of lists the content sums of all as they are stored. Runs that
// began apart share no basin, and their mean is of no use; they are refused. names, as many as
// files, stand in the error, which says what two files differ in.
func Mean(names []string, files []*File) (*File, error) {
	var sums []string
	stored := files
	files = make([]*File, len(stored))
	for i, f := range stored {
		sum := cmp.Or(f.Metadata[contentKey], f.ContentSum()) // of the file, whatever has been changed of its metadata since
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
	if err := related(names, files); err != nil {
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
	return out, nil
}

// leastCosine between the weights of two files that began from the same ones. Runs of ours that did have 0.92 and more, however they went on; those of
// other seeds have 0.00.
const leastCosine = 0.1

// related refuses files whose weights have nothing in common with those of the first, from which their mean would be taken.
func related(names []string, files []*File) error {
	for i, f := range files[1:] {
		product, one, other := 0., 0., 0.
		for _, t := range files[0].Tensors {
			if len(t.Shape) < 2 {
				continue // gains and variances are alike in any two networks
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
			return fmt.Errorf("%s and %s began from different random weights (the cosine between theirs is %.2f), so that their mean is of no use: "+
				"begin the second run from the first one's weights, train -init", names[0], names[i+1], cosine)
		}
	}
	return nil
}
