package segment

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mrprism/internal/data/synthetic"
	"mrprism/internal/files/imageio"
	"mrprism/internal/segment/segmenttest"
	"mrprism/model"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/device"
	"mrprism/weights"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tallied counts devices that are open.
type tallied struct {
	gpu.Device
	open *atomic.Int64
}

func (c tallied) Close() error {
	c.open.Add(-1)
	return c.Device.Close()
}

// After Close no goroutine and no device is left, whoever computed or waited for a turn.
func TestCloseLeavesNothing(t *testing.T) {
	f, err := segmenttest.Untrained(segmenttest.Fundus())
	require.NoError(t, err)
	data, err := segmenttest.Encode(f)
	require.NoError(t, err)
	m, err := weights.Shipped().Open("w", data)
	require.NoError(t, err)
	img, before := imageio.Convert(synthetic.Photograph(1, 120, 90)), 0
	var open, opened atomic.Int64
	for round := range 3 {
		s := Share(m, func(ctx context.Context, name string) (gpu.Device, error) {
			d, err := device.Open(ctx, name, device.Options{})
			open.Add(1)
			opened.Add(1)
			return tallied{d, &open}, err
		})
		segment := func(device string) error {
			_, err := s.Segment(t.Context(), device, model.F32, img, Options{Recurrences: Trained})
			return err
		}
		require.NoError(t, segment(device.Processor))
		require.NoError(t, segment(device.Reference))
		require.Equal(t, int64(2), open.Load())
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if err := segment(device.Processor); err != nil {
					assert.ErrorIs(t, err, ErrClosed)
				}
			})
		}
		s.Close()
		s.Close()
		assert.Zero(t, open.Load())
		all.Wait()
		require.ErrorIs(t, segment(device.Processor), ErrClosed)
		if round == 0 {
			before = runtime.NumGoroutine() // with those that all processor devices share
		}
	}
	assert.Equal(t, int64(6), opened.Load())
	for end := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	assert.LessOrEqual(t, runtime.NumGoroutine(), before)
}
