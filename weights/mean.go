package weights

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// described are the metadata that say what a file's tensors compute; files that differ in one have no mean.
var described = []string{"configuration", "classes", "raters", "labels", "anchor", "side", "normalisation", "layout"}

// Mean is the element-wise mean, as float32, of the weights of runs that began from the same weights: a model soup (Wortsman et al. 2022,
// "Model soups: averaging weights of multiple fine-tuned models improves accuracy without increasing inference time"). The metadata are the
// first's, without what was measured on it alone, and mean_of lists the content sums of all. Runs that began apart share no basin,
// and their mean is of no use; that cannot be seen in the files. names stand in messages.
func Mean(names []string, files []*File) (*File, error) {
	first := files[0]
	out := &File{Metadata: maps.Clone(first.Metadata)}
	specs := make([]Spec, len(first.Tensors))
	for i, t := range first.Tensors {
		specs[i] = Spec{t.Name, t.Shape}
	}
	var sums []string
	for i, f := range files {
		for _, key := range described {
			if f.Metadata[key] != first.Metadata[key] {
				return nil, fmt.Errorf("%s has %s %q, %s has %q: they have no mean", names[i], key, f.Metadata[key], names[0], first.Metadata[key])
			}
		}
		if err := f.Match(specs); err != nil {
			return nil, fmt.Errorf("%s beside %s: %w", names[i], names[0], err)
		}
		sum := f.ContentSum()
		if slices.Contains(sums, sum) {
			return nil, fmt.Errorf("%s has the same weights as one before it", names[i])
		}
		sums = append(sums, sum)
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
	out.Metadata["mean_of"], out.Metadata["metrics"] = string(list), "{}"
	delete(out.Metadata, "ranges")
	return out, nil
}
