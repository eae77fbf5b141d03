package model

import (
	"context"
	"fmt"
	"math"

	"mrprism/internal/tensor"
)

// Features are what the encoder makes of the image that it has seen last, as a list of figures
// whose length depends on the configuration alone: the mean of each channel of the bridge's map,
// and the deviation of each channel of what it hands to the merges of ConP's three finer stages.
func (in *Inference) Features(ctx context.Context) ([]float32, error) {
	variables := []*tensor.Variable{in.set.Lookup("shared.f0")}
	for stage := 2; stage <= 4; stage++ {
		variables = append(variables, in.set.Lookup(fmt.Sprintf("shared.merge%d", stage)))
	}
	values, err := in.set.Read(ctx, variables...)
	if err != nil {
		return nil, err
	}
	var features []float32
	for i, v := range variables {
		channels := v.Shape[len(v.Shape)-1]
		means, deviations := moments(values[i], channels)
		if i == 0 {
			features = append(features, means...)
		} else {
			features = append(features, deviations...)
		}
	}
	return features, nil
}

// moments are the mean and the deviation of each channel of a map (…, channels).
func moments(values []float32, channels int) (means, deviations []float32) {
	pixels := float64(len(values) / channels)
	sum, squares := make([]float64, channels), make([]float64, channels)
	for i, v := range values {
		sum[i%channels] += float64(v)
		squares[i%channels] += float64(v) * float64(v)
	}
	for c := range channels {
		mean := sum[c] / pixels
		means = append(means, float32(mean))
		deviations = append(deviations, float32(math.Sqrt(max(0, squares[c]/pixels-mean*mean))))
	}
	return means, deviations
}
