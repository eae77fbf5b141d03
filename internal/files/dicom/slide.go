package dicom

import (
	"fmt"
	"image"
	"math"

	"mrprism/internal/files/raster"
	"mrprism/shaders/pulse"
)

// slide is the picture of w × h pixels that the frames make as its tiles, row by row. If it has
// several focal planes or optical paths, these are its slices. Other files of whole slides are
// refused: a tile is no picture. Source: PS3.3 C.7.6.17.3.
func (f *frame) slide(w, h, slice int) (*raster.Frame, error) {
	if w > math.MaxUint16 || h > math.MaxUint16 {
		return &raster.Frame{W: min(w, math.MaxInt32), H: min(h, math.MaxInt32)}, nil // package imageio refuses the size
	}
	across, down := (w+f.w-1)/f.w, (h+f.h-1)/f.h
	tiles := across * down
	switch {
	case text(f.found[0x00209311]) != "TILED_FULL" || f.samples != 3:
		return nil, raster.Refused{
			Problem: fmt.Sprintf("this is a whole slide of %d×%d pixels in tiles, which MrPrism reads only in colour and in their order (TILED_FULL)", w, h),
			Advice:  "export the slide, or a part of it, as PNG or TIFF",
		}
	case f.frames%tiles != 0:
		return nil, fmt.Errorf("it has %d tiles, of which a picture takes %d", f.frames, tiles)
	case slice < 0 || slice > f.frames/tiles:
		return nil, raster.NoSlice(f.frames / tiles)
	case slice == 0:
		slice = f.frames/tiles/2 + 1
	}
	header := f.reference()
	header.slide = true
	return &raster.Frame{
		W: w, H: h, Orientation: 1, Spacing: f.spacing(), Slice: slice, Slices: f.frames / tiles, Header: header, Apart: "its frames are the tiles of a whole slide",
		Memory: 4*int64(w)*int64(h) + f.memory(),
		Decode: func() (image.Image, error) {
			m := image.NewRGBA(image.Rect(0, 0, w, h))
			for i := range tiles {
				pulse.Beat()
				one := *f
				one.index = (slice-1)*tiles + i
				tile, err := one.decode()
				if err != nil {
					return nil, fmt.Errorf("tile %d of %d: %w", i+1, tiles, err)
				}
				from, colours := tile.Bounds().Min, tile.(image.RGBA64Image)
				for y := range f.h {
					for x := range f.w { // outside m, Set does nothing
						m.SetRGBA64(i%across*f.w+x, i/across*f.h+y, colours.RGBA64At(from.X+x, from.Y+y))
					}
				}
			}
			return m, nil
		},
	}, nil
}
