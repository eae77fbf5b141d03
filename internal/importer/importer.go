// Package importer turns published sets of annotated images into data set folders (package dataset): RIGA, REFUGE and QUBIQ, each as it
// is unpacked from where it is published. The data's own terms hold for what is written.
package importer

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"mrprism/internal/imageio"
)

// Layout is a published form.
type Layout struct {
	Name        string
	Description string // what it is and how its folders look, for people
	list        func(o *Options) (*listing, error)
}

// Layouts are those that can be imported.
var Layouts = []Layout{riga, refuge, qubiq}

// FindLayout gives the layout of a name.
func FindLayout(name string) (Layout, error) {
	var names []string
	for _, l := range Layouts {
		if l.Name == name {
			return l, nil
		}
		names = append(names, l.Name)
	}
	return Layout{}, fmt.Errorf("no layout %q; there are %s", name, strings.Join(names, ", "))
}

// Options are the wishes of an import.
type Options struct {
	Source      string // folder as it was unpacked
	Destination string // folder of the data set to write
	Force       bool   // replace a data set that is there
	Longest     int    // the longer side of an image is brought down to this, pixels; 0: left as it is
	Progress    func(done, total int)

	// of QUBIQ
	Classes   []string    // names of the tasks, in order; none: the organ's, or task01, …
	Channels  []int       // one or three modalities, from 1 on, where an image has several
	Window    *[2]float64 // intensities that become black and white; nil: the 0.5 and 99.5 percentiles of each image
	AllSlices bool        // of a volume every slice that anybody marked, instead of the one in which most was marked
}

// Summary tells what was written.
type Summary struct {
	Name    string
	Images  int
	Classes []string
	Raters  []string
	Masks   [][]int // (M, K)
	Skipped []Skip
}

// Skip is a file, or a folder of files, that was not taken.
type Skip struct{ File, Reason string }

// listing is what a layout finds in a folder before reading it.
type listing struct {
	name, source    string
	classes, raters []string
	jobs            []job
	skipped         []Skip
}

// job reads one image with its masks, or several slices of a volume.
type job struct {
	name string
	read func() ([]picture, []Skip)
}

// picture is an image with its masks in memory.
type picture struct {
	name  string
	file  string // where the image came from
	image *imageio.Image
	masks [][][]uint8 // (M, K) of (H, W), 0 or 1; nil where the label is missing
}

// Run imports. The folder appears whole at the end or not at all; a folder that holds anything is left alone unless Force is given and it
// is a data set.
func (l Layout) Run(ctx context.Context, o Options) (*Summary, error) {
	var err error
	if o.Source, err = filepath.Abs(o.Source); err != nil { // cases are called after its name, which "." has not
		return nil, err
	}
	t, err := newTarget(&o)
	if err != nil {
		return nil, err
	}
	found, err := l.list(&o)
	if err != nil {
		return nil, err
	}
	if len(found.jobs) == 0 {
		return nil, fmt.Errorf("%s: nothing of the form of %s is in it%s; see what it should look like with -h", o.Source, l.Name, examples(found.skipped))
	}
	slices.SortFunc(found.jobs, func(a, b job) int { return cmp.Compare(a.name, b.name) })
	if err := t.begin(); err != nil {
		return nil, err
	}
	defer t.abandon()
	s := &Summary{Name: found.name, Classes: found.classes, Raters: found.raters, Skipped: found.skipped}
	s.Masks = make([][]int, len(s.Raters))
	for m := range s.Masks {
		s.Masks[m] = make([]int, len(s.Classes))
	}
	if err := s.run(ctx, t, found.jobs, &o); err != nil {
		return nil, err
	}
	if s.Images == 0 {
		return nil, fmt.Errorf("%s: no image of it could be taken%s", o.Source, examples(s.Skipped))
	}
	s.withoutIdle()
	if err := t.finish(s, found.source); err != nil {
		return nil, err
	}
	return s, nil
}

// examples are a few skipped files, for a message.
func examples(skipped []Skip) string {
	var text strings.Builder
	for _, s := range skipped[:min(3, len(skipped))] {
		fmt.Fprintf(&text, "\n  %s: %s", s.File, s.Reason)
	}
	return text.String()
}

// run does the jobs on all processors. What is skipped is told in the jobs' order.
func (s *Summary) run(ctx context.Context, t *target, jobs []job, o *Options) error {
	skipped := make([][]Skip, len(jobs))
	var lock sync.Mutex
	var failure error
	done := 0
	next := make(chan int)
	var wait sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for i := range next {
				pictures, left := jobs[i].read()
				var failed error
				written := pictures[:0]
				for _, p := range pictures {
					if reason := p.unmarked(s.Classes); reason != "" {
						left = append(left, Skip{p.file, reason})
						continue
					}
					p.shrink(o.Longest)
					failed = cmp.Or(failed, t.write(p, s.Raters, s.Classes))
					written = append(written, p)
				}
				lock.Lock()
				skipped[i], failure = left, cmp.Or(failure, failed)
				for _, p := range written {
					s.count(p)
				}
				done++
				if o.Progress != nil {
					o.Progress(done, len(jobs))
				}
				lock.Unlock()
			}
		})
	}
	stopped := func() bool {
		lock.Lock()
		defer lock.Unlock()
		return failure != nil || ctx.Err() != nil
	}
	for i := range jobs {
		if stopped() {
			break
		}
		next <- i
	}
	close(next)
	wait.Wait()
	for _, left := range skipped {
		s.Skipped = append(s.Skipped, left...)
	}
	return cmp.Or(failure, ctx.Err())
}

func (s *Summary) count(p picture) {
	s.Images++
	for m, masks := range p.masks {
		for k, mask := range masks {
			if mask != nil {
				s.Masks[m][k]++
			}
		}
	}
}

// withoutIdle leaves out raters of whom nothing was taken: a data set has no rater without masks.
func (s *Summary) withoutIdle() {
	kept := 0
	for m, masks := range s.Masks {
		if slices.Max(masks) > 0 {
			s.Raters[kept], s.Masks[kept] = s.Raters[m], masks
			kept++
		}
	}
	s.Raters, s.Masks = s.Raters[:kept], s.Masks[:kept]
}

// unmarked says which class nobody marked; such an image cannot be trained on.
func (p *picture) unmarked(classes []string) string {
	for k, class := range classes {
		if !slices.ContainsFunc(p.masks, func(masks [][]uint8) bool { return masks[k] != nil }) {
			return fmt.Sprintf("no rater's mark of the %s could be taken", class)
		}
	}
	return ""
}

// shrink brings the longer side down to so many pixels: image pixels are means over area, mask pixels are 1 where more than half is.
func (p *picture) shrink(longest int) {
	w, h := p.image.W, p.image.H
	side := max(w, h)
	if longest <= 0 || side <= longest {
		return
	}
	square := imageio.Square{Side: side} // from the left upper corner
	newW, newH := max(1, (w*longest+side/2)/side), max(1, (h*longest+side/2)/side)
	buffer := make([]float32, 3*longest*longest)
	shrunk := func(m *imageio.Image) *imageio.Image {
		m.Crop(buffer, square, longest)
		out := &imageio.Image{W: newW, H: newH, Pix: make([]uint8, 3*newW*newH)}
		for y := range newH {
			for x, v := range buffer[3*longest*y:][:3*newW] {
				out.Pix[3*newW*y+x] = uint8(255*v + .5)
			}
		}
		return out
	}
	for _, masks := range p.masks {
		for k, mask := range masks {
			if mask == nil {
				continue
			}
			grey := &imageio.Image{W: w, H: h, Pix: make([]uint8, 3*w*h)}
			for i, v := range mask {
				grey.Pix[3*i] = 255 * v
			}
			grey = shrunk(grey)
			masks[k] = make([]uint8, newW*newH)
			for i := range masks[k] {
				masks[k][i] = grey.Pix[3*i] >> 7
			}
		}
	}
	p.image = shrunk(p.image)
}
