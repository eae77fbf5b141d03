package training

import (
	"context"

	"mrprism/internal/dataset"
	"mrprism/internal/tensor"
	"mrprism/model"
)

// Picture is what a step made of the first image of its batch, values 0..1 but for the image's.
type Picture struct {
	Name          string // FOLDER/NAME
	Side, Classes int
	Image         []float32   // (S, S, 3), as the network saw it: 0..1, or standardised, about one half
	Votes         []float32   // (S, S, K), the share of those who marked the class that marked the pixel
	Masks         [][]float32 // the calibrated mask (S, S, K) after each recurrence
}

// pictured reports whether the step to be taken is one of those whose picture is wanted: the first one, and then evenly over the run. That a
// run is resumed changes nothing.
func (t *Trainer) pictured() bool {
	if t.Options.Pictures < 1 {
		return false
	}
	return t.step%max(1, t.Steps()/t.Options.Pictures) == 0
}

// picture reads what the last run computed.
func (p *stage) picture(ctx context.Context, data *dataset.Batch) (*Picture, error) {
	shape := p.step.Z.Shape() // (B, S, S, M, K)
	side, raters, classes := shape[1], shape[3], shape[4]
	out := &Picture{Name: data.Names[0], Side: side, Classes: classes, Image: make([]float32, side*side*3), Votes: make([]float32, side*side*classes)}
	for i := range out.Image {
		out.Image[i] = model.Denormalise(data.Images[i])
	}
	given := make([]float32, classes) // labels
	for i, v := range data.Valid[:raters*classes] {
		given[i%classes] += v
	}
	for i := range out.Votes {
		for m := range raters {
			out.Votes[i] += data.Labels[(i/classes*raters+m)*classes+i%classes] / max(given[i%classes], 1)
		}
	}
	var masks []*tensor.Tensor
	for _, r := range p.step.Recurrence {
		masks = append(masks, r.Y)
	}
	read, err := p.plan.Read(ctx, masks...)
	if err != nil {
		return nil, err
	}
	for _, m := range read {
		out.Masks = append(out.Masks, m[:side*side*classes])
	}
	return out, nil
}
