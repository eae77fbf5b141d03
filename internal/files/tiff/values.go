package tiff

import (
	"fmt"

	"mrprism/internal/files/raster"
)

// Values reads the numbers of the only page of a file, which has one sample a pixel: (H, W). full
// is the largest number that its samples can be, or 0 for floats. most is the largest number of
// pixels. Errors are plain, or raster.Unsupported.
func Values(data []byte, most int) (values []float32, w, h int, full float64, err error) {
	f, err := open(data)
	if err != nil {
		return nil, 0, 0, 0, err
	}
	pages, err := f.pages()
	if err != nil {
		return nil, 0, 0, 0, err
	}
	p, err := f.page(f.entries(pages[0].table))
	switch {
	case err != nil:
		return nil, 0, 0, 0, err
	case len(pages) > 1:
		return nil, 0, 0, 0, fmt.Errorf("it has %d pages; save one map a file", len(pages))
	case p.bare || p.w*p.h > most:
		return nil, 0, 0, 0, fmt.Errorf("its %d×%d pixels are too many; at most %d are read", p.w, p.h, most)
	case p.samples != 1 || p.compression == 7 || p.orientation != 1:
		return nil, 0, 0, 0, raster.Unsupported("numbers in colours, in JPEG or turned; save one grey sample a pixel")
	}
	c := &canvas{page: p, channels: 1, floats: make([]float32, p.w*p.h)}
	if err := p.fill(c); err != nil {
		return nil, 0, 0, 0, err
	}
	if p.format != 3 {
		full = float64(uint64(1)<<min(p.bits, 63) - 1)
	}
	if p.photometric == whiteIsZero && p.format == 1 {
		for i, v := range c.floats {
			c.floats[i] = float32(full) - v
		}
	}
	return c.floats, p.w, p.h, full, nil
}
