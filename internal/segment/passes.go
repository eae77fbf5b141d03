package segment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"mrprism/internal/data/roi"
	"mrprism/internal/files/imageio"
	"mrprism/internal/trust"
	"mrprism/model"
	"mrprism/weights"
)

// sight is what the encoder sees of an image: the region of a place, or the region's mirror image.
type sight struct {
	place    *place
	mirrored bool
}

// show encodes a sight, unless the encoder saw it last.
func (e *Engine) show(ctx context.Context, s sight) error {
	if e.shown == s {
		return nil
	}
	x := e.near(s.place.image, s.place.square, s.place.even)
	if s.mirrored {
		mirror(x, e.about.Side)
	}
	if err := e.feed(ctx, x); err != nil {
		return err
	}
	e.shown = s
	return nil
}

// crop is a square of the image (S, S, 3), values 0..1.
func (e *Engine) crop(img *imageio.Image, square imageio.Square) []float32 {
	x := make([]float32, e.about.Side*e.about.Side*3)
	img.Crop(x, square, e.about.Side)
	return x
}

// near is a square around a place. Where the search has found the place in even light, the square
// has the tones of other photographs.
func (e *Engine) near(img *imageio.Image, square imageio.Square, even bool) []float32 {
	x := e.crop(img, square)
	if even {
		roi.Tone(x)
	}
	return x
}

// feed normalises pixels (S, S, 3), in place, and encodes them.
func (e *Engine) feed(ctx context.Context, x []float32) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if e.about.Standardise {
		weights.Standardise(x)
	} else {
		for i := range x {
			x[i] = (x[i] - e.about.Mean[i%3]) / e.about.Deviation[i%3]
		}
	}
	e.shown = sight{}
	if err := e.network.Encode(ctx, x); err != nil {
		return err
	}
	return e.Wait(ctx)
}

// output are maps that the network makes of a region.
type output struct {
	masks  [][]float32        // calibrated masks of Rec0 … RecN, each (S, S, K)
	raters []float32          // of the last recurrence, (S, S, M, K); nil without heads
	plain  []float32          // the last masks before calibrate
	others []int              // of each structure: pieces that onePiece left out; nil without it
	took   map[string]float64 // ms of each stage
}

// all are the masks, and then the maps of the raters.
func (o output) all() [][]float32 { return append(slices.Clone(o.masks), o.raters) }

// blank are n masks of nothing, and maps of raters.
func (e *Engine) blank(n int) (out output) {
	pixels, k := e.about.Side*e.about.Side, len(e.about.Classes)
	for range n {
		out.masks = append(out.masks, make([]float32, pixels*k))
	}
	out.raters = make([]float32, pixels*e.heads()*k)
	return out
}

// heads is the number of maps of raters that the network makes: their masks, or how far it Trusts
// them.
func (e *Engine) heads() int {
	if HasHeads(&e.about) || Trusts(&e.about) {
		return len(e.about.Raters)
	}
	return 0
}

// run runs Rec0 … RecN on the region, with Metadata.Mirrored on its mirror image, and those of an
// ensemble's other members. unsteady are the figures that tell how far the mirror image's maps lie
// from the region's.
func (e *Engine) run(ctx context.Context, p *place, marks []model.Mark, q request) (out output, unsteady trust.Figures, err error) {
	first := sight{p, e.shown == sight{p, true}} // it needs no encoding again
	if out, err = e.passes(ctx, first, marks, q, "segment"); err != nil {
		return output{}, nil, err
	}
	if e.about.Mirrored {
		out.took["mirror"], err = timed(func() error {
			q.Progress("mirror", 0, q.Recurrences+1)
			other, err := e.passes(ctx, sight{p, !first.mirrored}, marks, q, "mirror")
			if err == nil {
				unsteady = e.between(out, other)
				average(out, other)
			}
			return err
		})
		if err != nil {
			return output{}, nil, err
		}
	}
	if e.about.SinglePieces {
		k := len(e.about.Classes)
		for _, maps := range out.masks {
			out.others = onePiece(maps, e.about.Side, k, e.network.Inside)
		}
		onePiece(out.raters, e.about.Side, e.heads()*k, e.network.Inside)
	}
	if len(e.others) > 0 {
		out.took["others"], err = timed(func() error { return e.withOthers(ctx, p, marks, q, out) })
	}
	return out, unsteady, err
}

// passes makes Rec0 … RecN of a sight. The maps are those of the region: the maps of its mirror
// image are mirrored.
func (e *Engine) passes(ctx context.Context, s sight, marks []model.Mark, q request, stage string) (out output, err error) {
	if e.settles {
		out, err = e.settleAround(ctx, s, marks, q, stage)
	} else {
		out, err = e.recur(ctx, s, q, stage)
	}
	if err == nil && s.mirrored {
		for _, maps := range out.all() {
			mirror(maps, e.about.Side)
		}
	}
	return out, err
}

// recur runs the recurrences of a model that takes no marks.
func (e *Engine) recur(ctx context.Context, s sight, q request, stage string) (out output, err error) {
	if err = e.show(ctx, s); err == nil {
		err = errors.Join(e.weigh(q.RaterWeights), e.network.Restart())
	}
	if err != nil {
		return output{}, err
	}
	out.took = map[string]float64{}
	for i := range q.Recurrences + 1 {
		q.Progress(stage, i, q.Recurrences+1)
		out.took[fmt.Sprintf("rec%d", i)], err = timed(func() error {
			y, err := e.checked(ctx, e.network.Recur)
			out.masks = append(out.masks, y)
			if err == nil && i == q.Recurrences && e.heads() > 0 {
				out.raters, err = e.checked(ctx, e.network.RaterLabels)
			}
			return err
		})
		if err != nil {
			return output{}, err
		}
	}
	return out, nil
}

// checked computes maps. The error names the device that returned nothing.
func (e *Engine) checked(ctx context.Context, compute func(context.Context) ([]float32, error)) ([]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	maps, err := compute(ctx)
	if errors.Is(err, model.ErrNothing) {
		err = fmt.Errorf("%s: %w; no mask is shown", e.device.Info(), err)
	}
	return maps, err
}

// channel picks channel c of maps (…, channels).
func channel(maps []float32, c, channels int) []float32 {
	out := make([]float32, len(maps)/channels)
	for i := range out {
		out[i] = maps[i*channels+c]
	}
	return out
}

// timed runs f and returns its time in ms.
func timed(f func() error) (float64, error) {
	start := time.Now()
	err := f()
	return since(start), err
}

func since(start time.Time) float64 { return float64(time.Since(start).Microseconds()) / 1000 }
