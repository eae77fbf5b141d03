package dataset

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	"mrprism/internal/imageio"
	"mrprism/internal/metric"
)

// Loaded is a case in memory.
type Loaded struct {
	Case
	Image *imageio.Image
	Masks [][][]uint8 // (M, K) masks (H, W) of 0 and 1; nil where the label is missing
}

// Given lists the masks of class k of those raters who marked it.
func (l *Loaded) Given(k int) [][]uint8 {
	var masks [][]uint8
	for m := range l.Masks {
		if mask := l.Masks[m][k]; mask != nil {
			masks = append(masks, mask)
		}
	}
	return masks
}

// Votes counts, pixel by pixel (H, W), who marked class k. Not ok where nobody gave a mask, or an agreement level is missing: the others do not
// say how many experts marked a pixel then.
func (l *Loaded) Votes(k int) (votes metric.Votes, ok bool) {
	given := l.Given(k)
	if len(given) == 0 || l.Levels && len(given) < len(l.Masks) {
		return votes, false
	}
	return metric.Count(given...), true
}

// Load reads a case's image and masks. The error is a Problems that names every bad file of the case.
func Load(c Case) (*Loaded, error) {
	var problems Problems
	l := &Loaded{Case: c, Masks: make([][][]uint8, len(c.Masks))}
	image, err := decode(c.Image)
	if err != nil {
		problems.add("%v", err)
	}
	l.Image = image
	for m, paths := range c.Masks {
		l.Masks[m] = make([][]uint8, len(paths))
		for k, path := range paths {
			if path == "" {
				continue
			}
			mask, err := c.Mask(path)
			if err != nil {
				problems.add("%v", err)
			}
			l.Masks[m][k] = mask
		}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return l, nil
}

// LoadSound reads cases on all processors and tells progress after each, from one goroutine at a time. It leaves out the cases with bad files, the
// others staying in order, and says what is wrong with them: every bad file of all cases. The error is the context's, after which nothing is returned.
func LoadSound(ctx context.Context, cases []Case, progress func(done, total int)) (sound []*Loaded, left Problems, err error) {
	return load(ctx, cases, progress, func(l *Loaded) (*Loaded, error) { return l, nil })
}

// load reads cases and keeps what is made of them.
func load[T any](ctx context.Context, cases []Case, progress func(done, total int), keep func(*Loaded) (T, error)) (sound []T, left Problems, err error) {
	kept, faults := make([]T, len(cases)), make([]error, len(cases))
	var lock sync.Mutex
	done := 0
	each(len(cases), func(i int) {
		if ctx.Err() != nil {
			return
		}
		l, err := Load(cases[i])
		if err == nil {
			kept[i], err = keep(l)
		}
		faults[i] = err
		lock.Lock()
		defer lock.Unlock()
		done++
		if progress != nil {
			progress(done, len(cases))
		}
	})
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	for i, err := range faults {
		if p, ok := err.(Problems); ok {
			left = append(left, p...)
		} else {
			sound = append(sound, kept[i])
		}
	}
	return sound, left, nil
}

// each calls do for 0..n-1 on all processors.
func each(n int, do func(i int)) {
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wait.Wait()
}

func decode(path string) (*imageio.Image, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: cannot be read (%w)", path, cause(err))
	}
	return imageio.Decode(path, data)
}

// Mask reads a picture of 0 and 255, as large as the image, as one (H, W) of 0 and 1. Other values are refused: a mask of 0 and 1 would
// otherwise read as empty, and a probability map as something nobody drew.
func (c *Case) Mask(path string) ([]uint8, error) {
	image, err := decode(path)
	if err != nil {
		return nil, err
	}
	if err := c.fits(path, image.W, image.H); err != nil {
		return nil, err
	}
	mask := make([]uint8, image.W*image.H)
	for i := range mask {
		r, g, b := image.Pix[3*i], image.Pix[3*i+1], image.Pix[3*i+2]
		if (r != 0 && r != 255) || r != g || r != b {
			return nil, fmt.Errorf("%s: holds the value %d,%d,%d at x %d, y %d; a mask is 0 and 255 (of 0 and 1: multiply by 255)", path, r, g, b, i%image.W, i/image.W)
		}
		mask[i] = r & 1
	}
	return mask, nil
}
