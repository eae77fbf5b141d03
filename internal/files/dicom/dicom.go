// Package dicom reads a frame of a DICOM file.
//
// It reads implicit and explicit values, both byte orders, deflated files, and pixels that are
// plain, in run lengths, in JPEG of 8 bits, in lossless JPEG, or in a format of package codec. It
// refuses other transfer syntaxes by name. Grey values are shown as the file's window says; without
// one, or if it shows nearly nothing, 8-bit values stay, and others are spread from the frame's
// least to its largest. If there is no window, the VOI lookup table counts. Padding is black. The
// tiles of a whole slide become one picture. Overlays and shutters are ignored.
// Source: DICOM PS3.3 C.7.5, C.7.6, C.7.9 and C.11, and PS3.5 A and G.
package dicom

import (
	"fmt"
	"image"
	"image/color"
	"math"
	"slices"

	"mrprism/internal/files/codec"
	"mrprism/internal/files/raster"
)

// syntaxes are the names of transfer syntaxes whose pixels are not read.
var syntaxes = map[string]string{
	"1.2.840.10008.1.2.4.92": "JPEG 2000 multi-component lossless", "1.2.840.10008.1.2.4.93": "JPEG 2000 multi-component",
	"1.2.840.10008.1.2.4.204": "JPIP HTJ2K referenced", "1.2.840.10008.1.2.4.205": "JPIP HTJ2K referenced, deflated",
	"1.2.840.10008.1.2.4.110": "JPEG XL lossless", "1.2.840.10008.1.2.4.112": "JPEG XL",
}

// codecs are the transfer syntaxes whose pictures package codec decodes.
var codecs = map[string]codec.Kind{
	"1.2.840.10008.1.2.4.80": codec.JPEGLS, "1.2.840.10008.1.2.4.81": codec.JPEGLS,
	"1.2.840.10008.1.2.4.90": codec.JPEG2000, "1.2.840.10008.1.2.4.91": codec.JPEG2000,
	"1.2.840.10008.1.2.4.201": codec.HTJ2K, "1.2.840.10008.1.2.4.202": codec.HTJ2K, "1.2.840.10008.1.2.4.203": codec.HTJ2K,
}

const maxFrames = 1 << 24 // of a file

// frame is a frame's place and form.
type frame struct {
	*parser
	syntax                  string
	w, h, samples           int
	allocated, stored, high int // bits
	signed, planar          bool
	photometric             string
	frames, index           int
	slope, intercept        float64
	window                  *window // nil: none
	modality, voi           *table  // nil: none
	jpeg                    raster.JPEG
	cut                     raster.Span // the values that decode shows, if the file leaves out many
}

// Open reads the header; slice counts frames from 1, and 0 is the middle one. Errors are plain,
// raster.Unsupported or raster.NoSlice.
func Open(data []byte, slice int, jpeg raster.JPEG) (*raster.Frame, error) {
	p, syntax, err := parse(data, slice)
	if err != nil {
		return nil, err
	}
	f := &frame{
		parser: p, syntax: syntax, jpeg: jpeg, w: p.word(0x00280011, 0), h: p.word(0x00280010, 0), samples: p.word(0x00280002, 1),
		allocated: p.word(0x00280100, 0), signed: p.word(0x00280103, 0) == 1, planar: p.word(0x00280006, 0) == 1,
		photometric: text(p.found[0x00280004]), slope: 1,
	}
	f.stored = p.word(0x00280101, f.allocated)
	f.high = p.word(0x00280102, f.stored-1)
	f.index, f.frames = p.frame()
	if err := f.readable(); err != nil {
		return nil, err
	}
	// Files of whole slides name the size of the picture that their tiles make.
	if size := slices.Concat(p.numbers(0x00480006, "UL"), p.numbers(0x00480007, "UL")); len(size) == 2 && (size[0] > float64(f.w) || size[1] > float64(f.h)) {
		return f.slide(int(size[0]), int(size[1]), slice)
	}
	if slice < 0 || slice > f.frames {
		return nil, raster.NoSlice(f.frames)
	}
	if v := p.numbers(0x00281053, "DS"); len(v) > 0 && v[0] != 0 {
		f.slope = v[0]
	}
	if v := p.numbers(0x00281052, "DS"); len(v) > 0 {
		f.intercept = v[0]
	}
	f.window = p.window()
	if err := f.tables(); err != nil {
		return nil, err
	}
	return &raster.Frame{
		W: f.w, H: f.h, Orientation: 1, Spacing: f.spacing(), Slice: f.index + 1, Slices: f.frames, Memory: f.memory(), Decode: f.decode,
		Header: f.reference(), Cut: &f.cut, Apart: f.apart(),
	}, nil
}

// readable returns an error for a frame that decode cannot read.
func (f *frame) readable() error {
	if other := f.noPicture(); other != nil {
		return *other
	}
	if name := syntaxes[f.syntax]; name != "" {
		return raster.Unsupported("the transfer syntax " + name)
	}
	switch _, coded := codecs[f.syntax]; f.syntax {
	case "", "1.2.840.10008.1.2", "1.2.840.10008.1.2.1", "1.2.840.10008.1.2.2", "1.2.840.10008.1.2.1.99", "1.2.840.10008.1.2.5",
		"1.2.840.10008.1.2.4.50", "1.2.840.10008.1.2.4.51", "1.2.840.10008.1.2.4.57", "1.2.840.10008.1.2.4.70":
	default:
		if !coded {
			return raster.Unsupported("the transfer syntax " + f.syntax)
		}
	}
	if kind, ok := codecs[f.syntax]; ok {
		if err := codec.Missing(kind); err != nil {
			return err
		}
	}
	_, floats := f.found[0x7fe00008]
	_, doubles := f.found[0x7fe00009]
	switch {
	case f.frames > maxFrames:
		return fmt.Errorf("it declares %d frames", f.frames)
	case floats || doubles:
		return raster.Unsupported("pixels as floats")
	case f.w == 0 || f.h == 0:
		return fmt.Errorf("it declares a size of %d×%d pixels", f.w, f.h)
	case f.samples != 1 && f.samples != 3:
		return raster.Unsupported(fmt.Sprintf("%d samples a pixel", f.samples))
	case f.allocated != 1 && f.allocated != 8 && f.allocated != 16 && f.allocated != 32:
		return raster.Unsupported(fmt.Sprintf("%d bits a sample", f.allocated))
	case f.stored < 1 || f.stored > f.allocated || f.high >= f.allocated || f.high < f.stored-1:
		return fmt.Errorf("it declares %d bits of %d up to bit %d", f.stored, f.allocated, f.high)
	case f.allocated == 1 && f.samples != 1:
		return raster.Unsupported("colours of one bit")
	}
	switch f.photometric {
	case "MONOCHROME1", "MONOCHROME2", "PALETTE COLOR", "":
		if f.samples == 1 {
			return nil
		}
	case "RGB", "YBR_FULL", "YBR_FULL_422", "YBR_RCT", "YBR_ICT":
		if f.samples == 3 {
			return nil
		}
	default:
		return raster.Unsupported("the photometric interpretation " + f.photometric)
	}
	return fmt.Errorf("it declares %d samples a pixel for %s", f.samples, f.photometric)
}

// memory is the peak of decode in bytes. Stored bytes become numbers of 4 bytes a sample. These
// become a picture after the stored bytes have been freed.
func (f *frame) memory() int64 {
	pixels, samples := int64(f.w)*int64(f.h), int64(f.samples)
	numbers, picture, stored := 4*samples*pixels, 4*pixels, int64(0)
	switch data, err := f.compressed(); {
	case f.baseline() && err == nil:
		stored = f.jpeg.Memory(f.asJPEG(data), f.w, f.h) + 2*int64(len(data))
		if samples == 3 {
			numbers, picture = 0, stored+3*pixels
		}
	case err == nil: // runs, or what a codec gives
		stored = int64(len(data)) + max(samples*int64(f.allocated)/8, 2*samples)*pixels
	case f.packed != nil:
		stored = samples * int64(f.allocated) / 8 * pixels
		numbers += int64(cap(f.data)) // what stands before the pixels
	}
	return numbers + max(stored, picture) + raster.RangeMemory + 1<<20
}

func (f *frame) baseline() bool {
	return f.syntax == "1.2.840.10008.1.2.4.50" || f.syntax == "1.2.840.10008.1.2.4.51"
}

// spacing is the size of a pixel in the body, mm across and down; 0 if the file does not say. Imager
// Pixel Spacing is the size at the detector. So is Pixel Spacing, if both are equal and nobody has
// calibrated it. The body is smaller than its shadow by the magnification factor. Source: PS3.3
// 10.7.1.3.
func (f *frame) spacing() (mm [2]float64) {
	lengths := func(tag uint32) []float64 { // rows come first in the file
		if v := f.numbers(tag, "DS"); len(v) == 2 && raster.Length(v[0]) && raster.Length(v[1]) {
			return v
		}
		return nil
	}
	own, imager := lengths(pixelSpacing), lengths(0x00181164)
	calibrated := text(f.found[0x00280a02]) != ""
	if own != nil && (calibrated || !slices.Equal(own, imager)) {
		return [2]float64{own[1], own[0]}
	}
	if factor := f.numbers(0x00181114, "DS"); imager != nil && len(factor) > 0 && factor[0] >= 1 {
		return [2]float64{imager[1] / factor[0], imager[0] / factor[0]}
	}
	return mm
}

// decode makes a picture of the frame.
func (f *frame) decode() (image.Image, error) {
	if f.baseline() {
		return f.decodeJPEG()
	}
	values, err := f.samplesOf()
	if err != nil {
		return nil, err
	}
	if f.samples == 1 && f.photometric != "PALETTE COLOR" {
		return f.grey(values), nil
	}
	m := image.NewNRGBA(image.Rect(0, 0, f.w, f.h))
	if f.samples == 1 {
		return m, f.lookUp(values, m.Pix)
	}
	least := 0.
	if f.signed {
		least = -math.Ldexp(1, f.stored-1)
	}
	scale := math.Ldexp(1, 8-f.stored)
	yCbCr := f.photometric == "YBR_FULL" || f.photometric == "YBR_FULL_422" // codecs make RGB
	for i := range f.w * f.h {
		p := m.Pix[4*i:]
		for c := range 3 {
			p[c] = uint8(min((float64(values[3*i+c])-least)*scale, 255))
		}
		if p[3] = 255; yCbCr {
			p[0], p[1], p[2] = color.YCbCrToRGB(p[0], p[1], p[2])
		}
	}
	return m, nil
}
