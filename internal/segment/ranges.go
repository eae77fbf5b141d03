package segment

import (
	"context"

	"mrprism/internal/gpu"
	"mrprism/internal/imageio"
	"mrprism/model"
	"mrprism/weights"
)

// Ranges segments images, each as it stands and, with a model that has an anchor, searched as well, and returns how large the inputs of
// layers became, weights.Metadata.Ranges, which inference in int8 needs. next returns an image at a time, nil after the last.
func Ranges(ctx context.Context, device gpu.Device, m *weights.Model, next func() (*imageio.Image, error)) (map[string]float32, error) {
	e, err := newEngine(ctx, device, m, model.F32, model.NewRanges)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	for {
		img, err := next()
		if err != nil {
			return nil, err
		}
		if img == nil {
			return e.network.Seen(), nil
		}
		regions := []string{"none"}
		if m.Metadata.Anchor != "" {
			regions = append(regions, "auto")
		}
		for _, region := range regions {
			if _, err := e.Segment(ctx, img, Options{Recurrences: Feedbacks(&m.Metadata), ROI: region}); err != nil {
				return nil, err
			}
		}
	}
}
