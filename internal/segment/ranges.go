package segment

import (
	"context"

	"mrprism/internal/files/imageio"
	"mrprism/model"
	"mrprism/shaders/gpu"
	"mrprism/weights"
)

// Ranges segments images and returns the largest inputs of layers, weights.Metadata.Ranges, for
// inference in int8. It segments each whole image, and with an anchor also the region that the
// search finds. next returns one image at a time, and nil after the last.
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
