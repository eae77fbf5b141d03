package dataset

import (
	"context"
	"fmt"
	"hash/crc64"
	"math"
	"slices"

	"mrprism/internal/data/roi"
	"mrprism/internal/files/imageio"
)

// samplePixel is the memory of a sample's pixel in bytes: its colours and an index.
const samplePixel = 3 + 2

// Sample is a case as training keeps it in memory, 5 bytes a pixel. A pixel has an index into the
// patterns of labels that occur. There are few patterns, since neighbouring pixels mostly have
// equal labels.
type Sample struct {
	Folder, Name string
	Diagnosis    Diagnosis

	image    *imageio.Image
	grey     bool
	index    []uint16    // (H, W) into patterns
	patterns [][]float32 // each (M, K) of 0 and 1, or of probabilities; pattern 0 is all 0
	soft     bool        // labels are probabilities
	valid    []float32   // (M, K), 1 if the rater has marked the class
	others   bool        // marked by other people than the raters, whose heads learn nothing from it
	whole    imageio.Square
	tight    imageio.Square // around the anchor
	anchored bool
	disc     disc // the anchor's circle
}

// LoadSamples reads cases as LoadSound does and makes samples of them; it does not keep the masks.
// The anchor is the class that a search in whole photographs looks for, and is empty for images
// that are always seen whole. The error says that the anchor is not a class, or is the context's.
func LoadSamples(ctx context.Context, d *Dataset, cases []Case, anchor string, progress func(done, total int)) (samples []*Sample, left Problems, err error) {
	k := slices.Index(d.Classes, anchor)
	if k < 0 && anchor != "" {
		return nil, nil, Problems{fmt.Sprintf("the anchor %q is not a class of %s", anchor, d.Name)}
	}
	return load(ctx, cases, progress, func(l *Loaded) (*Sample, error) {
		switch {
		case l.Others:
			l = l.levels(len(d.Raters), 1) // only their mean vote is used, to teach the mask
		case l.panels > 0:
			l = l.soften()
		}
		return newSample(l, k)
	})
}

// Others reports whether other people than the data set's raters marked the sample.
func (it *Sample) Others() bool { return it.others }

// Sum adds colours and marks to a checksum.
func (it *Sample) Sum(sum uint64) uint64 {
	sum = crc64.Update(sum, sumTable, it.image.Pix)
	for _, n := range it.index {
		sum = crc64.Update(sum, sumTable, []byte{byte(n), byte(n >> 8)})
	}
	for _, pattern := range it.patterns {
		sum = crc64.Update(sum, sumTable, fmt.Append(nil, pattern))
	}
	return sum
}

var sumTable = crc64.MakeTable(crc64.ECMA)

// marks calls visit with every pattern, the number of its pixels, and the index of each valid label
// of class k in the pattern.
func (it *Sample) marks(k, classes int, visit func(pattern []float32, label int, pixels float64)) {
	count := make([]float64, len(it.patterns))
	for _, n := range it.index {
		count[n]++
	}
	for l := k; l < len(it.valid); l += classes {
		for n, pattern := range it.patterns {
			if it.valid[l] != 0 {
				visit(pattern, l, count[n])
			}
		}
	}
}

// Marked counts the pixels that raters marked as class k, and all pixels of these masks.
func (it *Sample) Marked(k, classes int) (inside, all float64) {
	it.marks(k, classes, func(pattern []float32, l int, pixels float64) {
		all += pixels
		inside += float64(pattern[l]) * pixels
	})
	return inside, all
}

// Outside counts the pixels that raters marked as class k (k ≥ 1) but not as class k-1, and all
// that they marked as class k. Only raters who have marked both classes count.
func (it *Sample) Outside(k, classes int) (outside, all float64) {
	it.marks(k, classes, func(pattern []float32, l int, pixels float64) {
		if it.valid[l-1] != 0 {
			all += float64(pattern[l]) * pixels
			outside += float64(pattern[l]*(1-pattern[l-1])) * pixels
		}
	})
	return outside, all
}

func newSample(l *Loaded, anchor int) (*Sample, error) {
	image := *l.Image
	if cap(image.Pix) > len(image.Pix) {
		image.Pix = slices.Clone(image.Pix) // decoders leave room of four bytes a pixel
	}
	it := &Sample{Folder: l.Folder, Name: l.Name, Diagnosis: l.Diagnosis, image: &image, whole: imageio.Letterbox(image.W, image.H), grey: image.Grey(), others: l.Others, soft: l.soft}
	if anchor >= 0 {
		it.findAnchor(l, anchor)
	}
	masks := slices.Concat(l.Masks...)
	key := make([]byte, len(masks))
	it.valid = make([]float32, len(masks))
	known := map[string]uint16{string(key): 0}
	it.patterns = [][]float32{make([]float32, len(key))}
	it.index = make([]uint16, image.W*image.H)
	for j, mask := range masks {
		if mask != nil {
			it.valid[j] = 1
		}
	}
	for i := range it.index {
		for j, mask := range masks {
			if mask != nil {
				key[j] = mask[i]
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
				if pattern[j] = float32(v); l.soft {
					pattern[j] /= 255
				}
			}
			it.patterns = append(it.patterns, pattern)
		}
		it.index[i] = n
	}
	return it, nil
}

// findAnchor sets the region that a perfect search would find: the first of roi.Candidates for the
// mean vote at the image's own resolution. It also sets the circle of the pixels that more than
// half of the raters marked. It sets neither if votes cannot be counted or there are no such
// pixels.
func (it *Sample) findAnchor(l *Loaded, class int) {
	mean, majority, ok := l.consensus(class)
	if !ok {
		return
	}
	w, h := it.image.W, it.image.H
	vote := make([]float32, it.whole.Side*it.whole.Side)
	for y := range h {
		copy(vote[(y-it.whole.Y)*it.whole.Side-it.whole.X:], mean[y*w:(y+1)*w])
	}
	found, err := roi.Candidates(vote, it.whole.Side, it.whole, w, h)
	if err == nil && len(found) > 0 {
		it.tight, it.anchored = found[0].Square, true
		it.disc = circleOf(len(majority), w, .5, func(i int) bool { return majority[i] == 1 })
	}
}

// disc is a circle, in pixels.
type disc struct{ x, y, radius float64 }

// circleOf returns the circle with the middle and the area of the marked pixels. Pixels 0..n-1 lie
// in rows of w; column x has its middle at x + half, and rows likewise. Without a marked pixel the
// circle is zero.
func circleOf(n, w int, half float64, marked func(i int) bool) (d disc) {
	area := 0.
	for i := range n {
		if marked(i) {
			d.x += float64(i%w) + half
			d.y += float64(i/w) + half
			area++
		}
	}
	if area == 0 {
		return disc{}
	}
	return disc{d.x / area, d.y / area, math.Sqrt(area / math.Pi)}
}

// sampleImage fills dst (s, s, 3). If the view shrinks the image, a pixel is the mean of n×n
// bilinear samples, where n is the whole number of image pixels that it covers along a side. If the
// view enlarges the image, n is 1. This is the rule of package imageio, for views that may be
// turned. Beyond the border the edge pixels continue.
func (it *Sample) sampleImage(dst []float32, s int, v view, look Look) {
	it.samplePixels(dst, s, max(1, int(math.Ceil(v.side/float64(s)-1e-9))), v, look)
}

// samplePixels is sampleImage with n chosen by the caller.
func (it *Sample) samplePixels(dst []float32, s, n int, v view, look Look) {
	tone := look.tones()
	w, h := it.image.W, it.image.H
	weight := 1 / float32(n*n)
	grid := 1 / float64(s*n)
	lines := make([]func(u float64) (x, y float64), n)
	for y := range s {
		for j := range lines {
			lines[j] = v.line((float64(y*n+j)+.5)*grid - .5)
		}
		for x := range s {
			var r, g, b float32
			for _, source := range lines {
				for i := range n {
					u := (float64(x*n+i)+.5)*grid - .5
					px, py := source(u)
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

// sampleLabels fills dst (s, s, M·K). A label is 1 if the bilinear interpolation of the mask at the
// pixel's centre exceeds one half. Enlarged contours come out smooth (the nearest pixel would give
// stairs), labels stay 0 and 1, nested masks stay nested, and areas are kept. Outside of the image
// all labels are 0. Labels that are probabilities are interpolated and not thresholded.
func (it *Sample) sampleLabels(dst []float32, s int, v view) {
	w, h := it.image.W, it.image.H
	labels := len(it.patterns[0])
	for y := range s {
		source := v.line((float64(y)+.5)/float64(s) - .5)
		for x := range s {
			u := (float64(x)+.5)/float64(s) - .5
			px, py := source(u)
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
				out[l] = w00*p00[l] + w10*p10[l] + w01*p01[l] + w11*p11[l]
				if !it.soft {
					out[l] = aboveHalf(out[l])
				}
			}
		}
	}
}

// aboveHalf is 1 if v is more than one half, and otherwise 0.
func aboveHalf(v float32) float32 {
	if v > .5 {
		return 1
	}
	return 0
}

// corner returns the two pixels of 0..n-1 between whose centres the coordinate c lies, and how far
// c is from the first towards the second, 0..1.
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
