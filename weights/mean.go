package weights

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// described are the metadata that say what a file's tensors compute; files that differ in one have no mean.
var described = []string{"configuration", "recipe", "classes", "raters", "labels", "anchor", "pieces", "side", "normalisation", "layout"}

// Mean is the element-wise mean of the float32 weights of runs that began from the same weights: a model soup (Wortsman et al. 2022,
// "Model soups: averaging weights of multiple fine-tuned models improves accuracy without increasing inference time"). The metadata are the
// first's, without what was measured on it alone, and mean_of lists the content sums of all. Runs that began apart share no basin,
// and their mean is of no use; that cannot be seen in the files.
func Mean(files ...*File) (*File, error) {
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
				return nil, fmt.Errorf("weights: number %d of the mean has %s %q, the first %q", i+1, key, f.Metadata[key], first.Metadata[key])
			}
		}
		if err := f.Match(specs); err != nil {
			return nil, fmt.Errorf("number %d of the mean beside the first: %w", i+1, err)
		}
		sum := f.ContentSum()
		if slices.Contains(sums, sum) {
			return nil, fmt.Errorf("weights: number %d of the mean is there twice", i+1)
		}
		sums = append(sums, sum)
	}
	for _, t := range first.Tensors {
		total := make([]float64, t.Elements())
		for _, f := range files {
			part := f.Tensor(t.Name)
			if part.DType != F32 {
				return nil, fmt.Errorf("weights: %s is %s; a mean is of float32 weights, the .f32.safetensors of runs", t.Name, part.DType)
			}
			values, err := part.Float32()
			if err != nil {
				return nil, err
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
