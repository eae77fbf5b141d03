package dataset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"image"
	"runtime"
	"sync"

	"mrprism/internal/data/metric"
	"mrprism/internal/files/imageio"
	"mrprism/weights/disk"
)

// Loaded is a case in memory.
type Loaded struct {
	Case
	Image *imageio.Image
	// Masks are (M, K) masks (H, W) of 0 and 1; nil if the label is missing. M is the number of the
	// data set's raters, also of people who became levels. Fused labels are probabilities in steps
	// of 1/255.
	Masks [][][]uint8

	people [][][]uint8 // (R, K) masks of people if Masks are levels or panels made of them, or nil

	ones []string // masks that hold 1 where others hold 255
}

// Given lists the masks of class k by the raters who marked it.
func (l *Loaded) Given(k int) [][]uint8 { return presentMasks(l.Masks, k) }

// ByRater are the masks of class k by rater; nil for a missing mask.
func (l *Loaded) ByRater(k int) [][]uint8 {
	masks := make([][]uint8, len(l.Masks))
	for m, row := range l.Masks {
		masks[m] = row[k]
	}
	return masks
}

// presentMasks lists the masks of class k that are not missing.
func presentMasks(all [][][]uint8, k int) (masks [][]uint8) {
	for _, row := range all {
		if row[k] != nil {
			masks = append(masks, row[k])
		}
	}
	return masks
}

// Votes counts, pixel by pixel (H, W), the people who marked class k, even if Masks are levels or a
// panel made of them. ok is false if nobody gave a mask, or if an agreement level is missing: the
// other levels do not say how many experts marked a pixel.
func (l *Loaded) Votes(k int) (votes metric.Votes, ok bool) {
	given := l.Experts(k)
	if len(given) == 0 || l.people == nil && l.Levels && len(given) < len(l.Masks) {
		return votes, false
	}
	return metric.Count(given...), true
}

// Experts lists the masks of class k by people, even if Masks are levels or a panel made of them.
// For a folder of levels it lists the levels.
func (l *Loaded) Experts(k int) [][]uint8 {
	if l.people != nil {
		return presentMasks(l.people, k)
	}
	return presentMasks(l.Masks, k)
}

// Reader reads a case that lies in no folder, such as an image that people read in sessions. Only
// what is asked for is read.
type Reader interface {
	// Marks are nil if the case is left out, of which the reader keeps the reason.
	Marks() *Marks
	Image() (*imageio.Image, error)
}

// Marks are the masks of an image, cut to a window. Outside it nobody has marked a pixel.
type Marks struct {
	W, H   int // of the image
	Window image.Rectangle
	Masks  [][][]uint8 // (M, K) of the window's pixels; nil if the label is missing
	Again  [][][]uint8 // (A, K) of second readings
}

// Marks reads the masks. They are nil if the case is left out by its Reader, or has problems.
func (c *Case) Marks() (*Marks, Problems) {
	if c.Reader != nil {
		return c.Reader.Marks(), nil
	}
	var problems Problems
	all := &Marks{
		W: c.W, H: c.H, Window: image.Rect(0, 0, c.W, c.H),
		Masks: problems.read(c.Masks, c.Mask), Again: problems.read(c.Again, c.Mask),
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return all, nil
}

// read reads masks (M, K). Those that cannot be read are problems.
func (p *Problems) read(all [][]string, mask func(path string) ([]uint8, error)) [][][]uint8 {
	masks := make([][][]uint8, len(all))
	for m, paths := range all {
		masks[m] = make([][]uint8, len(paths))
		for k, path := range paths {
			if path == "" {
				continue
			}
			var err error
			if masks[m][k], err = mask(path); err != nil {
				p.add("%v", err)
			}
		}
	}
	return masks
}

// whole are the masks (H, W).
func (m *Marks) whole() (masks [][][]uint8) {
	for _, row := range m.Masks {
		wide := make([][]uint8, len(row))
		masks = append(masks, wide)
		for k, mask := range row {
			if mask == nil {
				continue
			}
			wide[k] = make([]uint8, m.W*m.H)
			for y, w := 0, m.Window.Dx(); y < m.Window.Dy(); y++ {
				copy(wide[k][(m.Window.Min.Y+y)*m.W+m.Window.Min.X:], mask[y*w:(y+1)*w])
			}
		}
	}
	return masks
}

// ErrLeft is the error of Load for a case that its Reader leaves out.
var ErrLeft = errors.New("the image is left out: the reason stands with what was not read")

func (c *Case) load() (*Loaded, error) {
	marks := c.Reader.Marks()
	if marks == nil {
		return nil, ErrLeft
	}
	image, err := c.Reader.Image()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Name, err)
	}
	c.W, c.H = marks.W, marks.H
	return &Loaded{Case: *c, Image: image, Masks: marks.whole()}, nil
}

// Load reads a case's image and masks. People beside agreement levels become levels. The error is a
// Problems that names every bad file of the case.
func Load(c Case) (*Loaded, error) {
	if c.Reader != nil {
		return c.load()
	}
	var problems Problems
	l := &Loaded{Case: c}
	mask := func(path string) ([]uint8, error) {
		m, inside, err := c.mask(path)
		if inside == 1 {
			l.ones = append(l.ones, path)
		}
		return m, err
	}
	if c.soft {
		mask = c.probabilities
	}
	var err error
	if l.Image, err = read(c.Image, imageio.Decode); err != nil {
		problems.add("%v", err)
	}
	if l.Masks = problems.read(c.Masks, mask); len(problems) > 0 {
		return nil, problems
	}
	switch people := l.Masks; {
	case c.panels > 0:
		l = l.asPanel()
	case c.nearest > 0:
		l = l.levels(c.nearest, leastPeople)
		l.people, l.Levels = people, true
	}
	return l, nil
}

// LoadSound reads cases on all processors and reports progress after each, from one goroutine at a
// time. It leaves out the cases with bad files, and returns every bad file of all cases. The other
// cases stay in order. If the context ends, LoadSound returns only its error.
func LoadSound(ctx context.Context, cases []Case, progress func(done, total int)) (sound []*Loaded, left Problems, err error) {
	return load(ctx, cases, progress, func(l *Loaded) (*Loaded, error) { return l, nil })
}

// load reads cases, and returns the results of keep.
func load[T any](ctx context.Context, cases []Case, progress func(done, total int), keep func(*Loaded) (T, error)) (sound []T, left Problems, err error) {
	kept, faults := make([]T, len(cases)), make([]error, len(cases))
	err = Each(ctx, len(cases), progress, func(i int) error {
		l, err := Load(cases[i])
		if err == nil {
			kept[i], err = keep(l)
		}
		faults[i] = err
		return nil
	})
	if err != nil {
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

// Each calls do for 0..n-1 on all processors and then progress, if not nil, from one goroutine at a
// time. It begins no further call after an error of do or the end of the context, and returns the
// first error.
func Each(ctx context.Context, n int, progress func(done, total int), do func(i int) error) error {
	var lock sync.Mutex // of failure, next and done
	var failure error
	next, done := 0, 0
	work := func() {
		lock.Lock()
		for next < n && failure == nil && ctx.Err() == nil {
			i := next
			next++
			lock.Unlock()
			err := do(i)
			lock.Lock()
			failure = cmp.Or(failure, err)
			if done++; progress != nil {
				progress(done, n)
			}
		}
		lock.Unlock()
	}
	var wait sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		wait.Go(work)
	}
	wait.Wait()
	return cmp.Or(failure, ctx.Err())
}

// InOrder makes the results 0 … n-1, some at once, and keeps them one after another in their order.
// It ends at the first error.
func InOrder[T any](ctx context.Context, n, atOnce int, result func(i int) (T, error), keep func(T) error) error {
	for from := 0; from < n; from += atOnce {
		made := make([]T, min(atOnce, n-from))
		err := Each(ctx, len(made), nil, func(i int) (err error) {
			made[i], err = result(from + i)
			return err
		})
		for i := 0; i < len(made) && err == nil; i++ {
			err = keep(made[i])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// read reads a file with imageio.Header or imageio.Decode.
func read[T any](path string, by func(name string, data []byte) (T, error)) (T, error) {
	data, err := disk.ReadFile(path)
	if err != nil {
		return *new(T), fmt.Errorf("%s: cannot be read (%w)", path, disk.Cause(err))
	}
	return by(path, data)
}

func header(path string) (*imageio.Info, error) { return read(path, imageio.Header) }
