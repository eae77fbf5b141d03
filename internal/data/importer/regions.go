package importer

import (
	"errors"
	"fmt"
	"image"
	"math"
	"slices"

	"mrprism/internal/data/dataset"
)

// region marks an area in a mask (h, w) with 1. (0, 0) is the outer corner of the first pixel.
type region func(mask []uint8, w, h int) error

// polygon marks the pixels whose centres lie in a closed line of points x, y, x, y, …, by the
// even-odd rule.
func polygon(points ...float64) region {
	return func(mask []uint8, w, h int) error {
		n := len(points)
		if n < 6 || n%2 != 0 {
			return fmt.Errorf("a polygon of %d numbers, and three points have six", n)
		}
		for y := range h {
			middle, cuts := float64(y)+.5, []float64(nil)
			for i := 0; i < n; i += 2 {
				x0, y0, x1, y1 := points[i], points[i+1], points[(i+2)%n], points[(i+3)%n]
				if (y0 <= middle) != (y1 <= middle) {
					cuts = append(cuts, min(max(0, math.Ceil(x0+(middle-y0)/(y1-y0)*(x1-x0)-.5)), float64(w)))
				}
			}
			slices.Sort(cuts)
			for i := 0; i+1 < len(cuts); i += 2 {
				for x := int(cuts[i]); x < int(cuts[i+1]); x++ {
					mask[y*w+x] = 1
				}
			}
		}
		return nil
	}
}

// runs marks every second run of the pixels of a box, along its lines or its columns. The first run
// is outside.
func runs(counts []int, box image.Rectangle, columns bool) region {
	return func(mask []uint8, w, h int) error {
		if !box.In(image.Rect(0, 0, w, h)) {
			return fmt.Errorf("its runs are of %v, and the image has %d×%d pixels", box, w, h)
		}
		at, long := 0, box.Dx()
		if columns {
			long = box.Dy()
		}
		for i, n := range counts {
			if n < 0 || n > box.Dx()*box.Dy()-at {
				return fmt.Errorf("its runs do not end with the last of its %d×%d pixels", box.Dx(), box.Dy())
			}
			for j := at; j < at+n && i%2 == 1; j++ {
				x, y := j%long, j/long
				if columns {
					x, y = y, x
				}
				mask[(box.Min.Y+y)*w+box.Min.X+x] = 1
			}
			at += n
		}
		return nil
	}
}

// bitmap marks what a PNG marks whose corner lies at x, y.
func bitmap(png []byte, x, y int) region {
	return func(mask []uint8, w, h int) error {
		values, wide, _, _, err := dataset.Levels("its mask", png)
		for i, v := range values {
			if at := image.Pt(x+i%wide, y+i/wide); v != 0 && at.In(image.Rect(0, 0, w, h)) {
				mask[at.Y*w+at.X] = 1
			}
		}
		return err
	}
}

// brush marks what Label Studio's brush covers: the opacity of pixels of four bytes, in the run
// lengths of thi.ng/rle-pack. Source: decode_rle of label_studio_converter/brush.py.
func brush(data []byte) region {
	return func(mask []uint8, w, h int) error {
		at := 0
		read := func(bits int) (v int) {
			for ; bits > 0; bits-- {
				if v *= 2; at < 8*len(data) {
					v += int(data[at/8]>>(7-at%8)) & 1
				}
				at++
			}
			return v
		}
		if n := read(32); n != 4*w*h {
			return fmt.Errorf("its brush covers %d bytes, and the image has %d×%d pixels of 4", n, w, h)
		}
		word, sizes := read(5)+1, [4]int{}
		for i := range sizes {
			sizes[i] = read(4) + 1
		}
		for i := 0; i < 4*w*h; {
			same := read(1) == 1
			first, end, value := i, i+1+read(sizes[read(2)]), 0
			for ; i < min(end, 4*w*h); i++ {
				if !same || i == first {
					value = read(word)
				}
				if i%4 == 3 && value > 0 {
					mask[i/4] = 1
				}
			}
			if at > 8*len(data) {
				return errors.New("its brush is cut short")
			}
		}
		return nil
	}
}
