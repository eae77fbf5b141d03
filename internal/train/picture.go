package train

import (
	"context"

	"mrprism/internal/data/dataset"
	"mrprism/shaders/tensor"
	"mrprism/weights"
)

// Picture shows the first image of a step's batch and its masks. Votes and masks are in 0..1.
type Picture struct {
	Name          string // FOLDER/NAME
	Side, Classes int
	Image         []float32   // (S, S, 3) as the network saw it: 0..1, or standardised around one half
	Votes         []float32   // (S, S, K), the share of the class's raters who marked the pixel
	Masks         [][]float32 // the calibrated mask (S, S, K) after each recurrence
}

// pictured says whether the next step needs a picture: the first step does, and then steps evenly
// over the run, resumed or not.
func (t *Trainer) pictured() bool {
	if t.Options.Pictures < 1 {
		return false
	}
	return t.step%max(1, t.Steps()/t.Options.Pictures) == 0
}

// picture reads the results of the last run of the plan.
func (p *stage) picture(ctx context.Context, data *dataset.Batch) (*Picture, error) {
	shape := p.step.Z.Shape() // (B, S, S, M, K)
	side, raters, classes := shape[1], shape[3], shape[4]
	out := &Picture{Name: data.Names[0], Side: side, Classes: classes, Image: make([]float32, side*side*3), Votes: make([]float32, side*side*classes)}
	for i := range out.Image {
		out.Image[i] = weights.Denormalise(data.Images[i])
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
