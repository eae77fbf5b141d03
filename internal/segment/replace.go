package segment

import (
	"context"

	"mrprism/weights"
)

// Replace gives the engine other weights of the same network, those of a training that goes on: their names and shapes must be the same.
func (e *Engine) Replace(ctx context.Context, file *weights.File) error {
	e.view = nil
	return load(ctx, e.device, e.set, file)
}
