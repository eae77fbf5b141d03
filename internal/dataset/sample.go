package dataset

import (
	"context"
	"fmt"
	"math"
	"slices"

	"mrprism/internal/imageio"
)

// samplePixel is what a pixel of a sample takes, bytes: its colours and an index.
const samplePixel = 3 + 2

// Sample is a case as training keeps it, 5 bytes a pixel. All masks share one map of indices into the label patterns that occur, since
// between borders a pixel and its neighbours have the same labels.
type Sample struct {
	Folder, Name string

	image    *imageio.Image
	grey     bool
	index    []uint16    // (H, W) into patterns
	patterns [][]float32 // each (M, K) of 0 and 1; pattern 0 is all 0
	valid    []float32   // (M, K)
	others   bool        // marked by other people than the raters, whose heads learn nothing from it
	whole    imageio.Square
	tight    imageio.Square // around the anchor
	anchored bool
	disc     disc // the anchor's
}

// LoadSamples reads cases as LoadSound does, and makes samples of them, the masks not being kept. The anchor is the class that a search in whole
// photographs looks for; empty for images that are always seen whole. The error is that there is no such class, or the context's.
func LoadSamples(ctx context.Context, d *Dataset, cases []Case, anchor string, progress func(done, total int)) (samples []*Sample, left Problems, err error) {
	k := slices.Index(d.Classes, anchor)
	if k < 0 && anchor != "" {
		return nil, nil, Problems{fmt.Sprintf("the anchor %q is not a class of %s", anchor, d.Name)}
	}
	return load(ctx, cases, progress, func(l *Loaded) (*Sample, error) {
		if l.Others {
			l = l.shared(len(d.Raters))
		}
		return newSample(l, k)
	})
}

// Others reports whether other people than the data set's raters marked it.
func (it *Sample) Others() bool { return it.others }

// Marked sums the pixels that raters marked as class k of so many, and all pixels of those masks.
func (it *Sample) Marked(k, classes int) (inside, all float64) {
	count := make([]int, len(it.patterns)) // of pixels
	for _, n := range it.index {
		count[n]++
	}
	for l := k; l < len(it.valid); l += classes {
		if it.valid[l] == 0 {
			continue
		}
		all += float64(len(it.index))
		for n, pattern := range it.patterns {
			inside += float64(pattern[l]) * float64(count[n])
		}
	}
	return inside, all
}

// Outside sums the pixels that raters marked as class k, after the first of so many, but not as the class before, and all that they marked as k; of
// raters who have marked both.
func (it *Sample) Outside(k, classes int) (outside, all float64) {
	count := make([]int, len(it.patterns)) // of pixels
	for _, n := range it.index {
		count[n]++
	}
	for l := k; l < len(it.valid); l += classes {
		if it.valid[l] == 0 || it.valid[l-1] == 0 {
			continue
		}
		for n, pattern := range it.patterns {
			all += float64(pattern[l]) * float64(count[n])
			outside += float64(pattern[l]*(1-pattern[l-1])) * float64(count[n])
		}
	}
	return outside, all
}

func newSample(l *Loaded, anchor int) (*Sample, error) {
	image := *l.Image
	if cap(image.Pix) > len(image.Pix) {
		image.Pix = slices.Clone(image.Pix) // decoders leave room of four bytes a pixel
	}
	it := &Sample{Folder: l.Folder, Name: l.Name, image: &image, whole: imageio.Letterbox(image.W, image.H), grey: true, others: l.Others}
	for i := 0; i < len(l.Image.Pix) && it.grey; i += 3 {
		it.grey = l.Image.Pix[i] == l.Image.Pix[i+1] && l.Image.Pix[i] == l.Image.Pix[i+2]
	}
	if anchor >= 0 {
		it.tight, it.anchored = anchorSquare(l, anchor)
	}
	classes := len(l.Masks[0])
	key := make([]byte, len(l.Masks)*classes)
	it.valid = make([]float32, len(key))
	for m, masks := range l.Masks {
		for k, mask := range masks {
			if mask != nil {
				it.valid[m*classes+k] = 1
			}
		}
	}
	known := map[string]uint16{string(key): 0}
	it.patterns = [][]float32{make([]float32, len(key))}
	it.index = make([]uint16, l.Image.W*l.Image.H)
	for i := range it.index {
		for m, masks := range l.Masks {
			for k, mask := range masks {
				if mask != nil {
					key[m*classes+k] = mask[i]
				}
			}
		}
		n, found := known[string(key)]
		if !found {
			if len(it.patterns) > math.MaxUint16 {
				return nil, Problems{fmt.Sprintf("%s: its masks combine in more than %d ways; they cannot be right", l.Case.Image, math.MaxUint16)}
			}
			n = uint16(len(it.patterns))
			known[string(key)] = n
			pattern := make([]float32, len(key))
			for j, v := range key {
				pattern[j] = float32(v)
			}
			it.patterns = append(it.patterns, pattern)
		}
		it.index[i] = n
	}
	if anchor >= 0 {
		it.disc = it.anchorDisc(anchor, classes)
	}
	return it, nil
}

// sampleImage fills dst (s, s, 3). Where the view shrinks, a pixel is the mean of n×n bilinear samples, n the whole number of image
// pixels that it covers along a side; where it enlarges, one: imageio's rule, turned. Beyond the border the edge continues.
func (it *Sample) sampleImage(dst []float32, s int, v view, look Look) {
	tone := look.tones()
	n := max(1, int(math.Ceil(v.side/float64(s)-1e-9)))
	w, h := it.image.W, it.image.H
	weight := 1 / float32(n*n)
	grid := 1 / float64(s*n)
	for y := range s {
		for x := range s {
			var r, g, b float32
			for j := range n {
				vv := (float64(y*n+j)+.5)*grid - .5
				for i := range n {
					u := (float64(x*n+i)+.5)*grid - .5
					px, py := v.at(u, vv)
					x0, x1, fx := corner(px, w)
					y0, y1, fy := corner(py, h)
					p00, p10 := it.image.Pix[3*(y0*w+x0):][:3], it.image.Pix[3*(y0*w+x1):][:3]
					p01, p11 := it.image.Pix[3*(y1*w+x0):][:3], it.image.Pix[3*(y1*w+x1):][:3]
					w11 := fx * fy
					w10, w01, w00 := fx-w11, fy-w11, 1-fx-fy+w11
					r += w00*tone[0][p00[0]] + w10*tone[0][p10[0]] + w01*tone[0][p01[0]] + w11*tone[0][p11[0]]
					g += w00*tone[1][p00[1]] + w10*tone[1][p10[1]] + w01*tone[1][p01[1]] + w11*tone[1][p11[1]]
					b += w00*tone[2][p00[2]] + w10*tone[2][p10[2]] + w01*tone[2][p01[2]] + w11*tone[2][p11[2]]
				}
			}
			o := dst[3*(y*s+x):]
			o[0], o[1], o[2] = r*weight, g*weight, b*weight
		}
	}
	look.finish(dst, s, s)
}

// sampleLabels fills dst (s, s, M·K). A label is 1 where the bilinear interpolation of the mask at the pixel's centre exceeds one
// half: enlarged contours come out smooth where the nearest pixel would give stairs, labels stay 0 and 1, nested masks stay nested
// and area is kept. Beyond the image nobody marked anything.
func (it *Sample) sampleLabels(dst []float32, s int, v view) {
	w, h := it.image.W, it.image.H
	labels := len(it.patterns[0])
	for y := range s {
		vv := (float64(y)+.5)/float64(s) - .5
		for x := range s {
			u := (float64(x)+.5)/float64(s) - .5
			px, py := v.at(u, vv)
			out := dst[(y*s+x)*labels:][:labels]
			if px < 0 || py < 0 || px >= float64(w) || py >= float64(h) {
				clear(out)
				continue
			}
			x0, x1, fx := corner(px, w)
			y0, y1, fy := corner(py, h)
			i00, i10, i01, i11 := it.index[y0*w+x0], it.index[y0*w+x1], it.index[y1*w+x0], it.index[y1*w+x1]
			p00 := it.patterns[i00]
			if i00 == i10 && i00 == i01 && i00 == i11 {
				copy(out, p00)
				continue
			}
			p10, p01, p11 := it.patterns[i10], it.patterns[i01], it.patterns[i11]
			w11 := fx * fy
			w10, w01, w00 := fx-w11, fy-w11, 1-fx-fy+w11
			for l := range out {
				out[l] = 0
				if w00*p00[l]+w10*p10[l]+w01*p01[l]+w11*p11[l] > .5 {
					out[l] = 1
				}
			}
		}
	}
}

// corner is the pair of pixels between whose centres coordinate c lies, kept inside 0..n-1, and how far it is toward the second.
func corner(c float64, n int) (first, second int, fraction float32) {
	c -= .5
	if c <= 0 {
		return 0, 0, 0
	}
	first = int(c)
	if first >= n-1 {
		return n - 1, n - 1, 0
	}
	return first, first + 1, float32(c - float64(first))
}
