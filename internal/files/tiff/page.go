package tiff

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"mrprism/internal/files/raster"
)

// Tags of a directory, by their names in the specification.
const (
	tagNewSubfile, tagSubfile, tagDescription                    = 254, 255, 270
	tagWidth, tagHeight, tagBits, tagCompression, tagPhotometric = 256, 257, 258, 259, 262
	tagFillOrder, tagStripOffsets, tagOrientation, tagSamples    = 266, 273, 274, 277
	tagStripRows, tagStripCounts, tagXResolution, tagYResolution = 278, 279, 282, 283
	tagPlanar, tagFaxOptions, tagResolutionUnit, tagPredictor    = 284, 292, 296, 317
	tagPalette, tagTileWidth, tagTileHeight, tagTileOffsets      = 320, 322, 323, 324
	tagTileCounts, tagInkSet, tagExtra, tagFormat, tagTables     = 325, 332, 338, 339, 347
	tagSubsampling, tagNoData                                    = 530, 42113
)

// Photometric interpretations.
const (
	whiteIsZero, blackIsZero, rgb, palette, cmyk, yCbCr = 0, 1, 2, 3, 5, 6
)

// compressions are the names of all compressions that programs write.
var compressions = map[uint64]string{
	1: "none", 2: "CCITT modified Huffman", 3: "CCITT group 3", 4: "CCITT group 4", 5: "LZW", 6: "old-style JPEG", 7: "JPEG", 8: "Deflate",
	32766: "NeXT", 32771: "CCITT, word-aligned", 32773: "PackBits", 32809: "ThunderScan", 32946: "Deflate",
	33003: "JPEG 2000 (Aperio)", 33004: "JPEG 2000 (Aperio)", 33005: "JPEG 2000 (Aperio)", 33007: "lossy JPEG (NDPI)",
	34661: "JBIG", 34676: "SGI LogLuv", 34677: "SGI LogLuv 24", 34712: "JPEG 2000", 34713: "Nikon NEF", 34887: "LERC",
	34892: "lossy JPEG (DNG)", 34925: "LZMA", 34926: "ZSTD (old)", 34927: "WebP (old)", 50000: "ZSTD", 50001: "WebP", 50002: "JPEG XL", 52546: "JPEG XL",
}

// page is a page's directory.
type page struct {
	*file
	w, h, orientation              int
	spacing                        [2]float64
	compression, photometric       uint64
	bits, samples, predictor       int
	format                         uint64  // of samples: 1 unsigned, 2 signed, 3 float
	separate, reversed             bool    // samples in planes; a byte begins with its lowest bit
	none                           float64 // GDAL's value of pixels without data; NaN: there is none
	colours, alpha                 int     // channels that are shown; the sample that is alpha, or −1
	associated                     bool    // alpha is multiplied in
	faxOptions                     uint64
	tileW, tileH, across, down     int
	offsets, counts, map16, tables entry
	shift                          uint64 // bytes between the first slice of a stack and this one
	jpeg                           raster.JPEG
	bare                           bool // only the size is known, and decoding refuses it
}

// page reads a directory and refuses what decode cannot read.
func (f *file) page(d map[uint16]entry) (*page, error) {
	one := func(tag uint16, other uint64) uint64 { return f.uint(d[tag], 0, other) }
	w, h := one(tagWidth, 0), one(tagHeight, 0)
	if w == 0 || h == 0 || w > maxSide || h > maxSide {
		return &page{w: int(min(w, math.MaxInt32)), h: int(min(h, math.MaxInt32)), bare: true}, nil
	}
	p := &page{
		file: f, w: int(w), h: int(h), compression: one(tagCompression, 1), photometric: one(tagPhotometric, blackIsZero),
		bits: int(min(one(tagBits, 1), 1<<16)), samples: int(min(one(tagSamples, 1), 1<<16)), predictor: int(min(one(tagPredictor, 1), 9)),
		format: one(tagFormat, 1), separate: one(tagPlanar, 1) == 2, reversed: one(tagFillOrder, 1) == 2, faxOptions: one(tagFaxOptions, 0),
		map16: d[tagPalette], tables: d[tagTables], alpha: -1, none: noData(d[tagNoData]), orientation: int(min(one(tagOrientation, 1), 9)),
	}
	if p.orientation < 1 || p.orientation > 8 {
		p.orientation = 1
	}
	if unit := map[uint64]float64{2: 25.4, 3: 10}[one(tagResolutionUnit, 2)]; unit > 0 {
		p.spacing = [2]float64{f.perMillimetre(d[tagXResolution], unit), f.perMillimetre(d[tagYResolution], unit)}
	}
	if p.samples < 1 || p.samples > maxSamples {
		return nil, fmt.Errorf("it declares %d samples a pixel", p.samples)
	}
	for i := range min(p.samples, int(d[tagBits].count)) {
		if f.uint(d[tagBits], i, 0) != uint64(p.bits) {
			return nil, raster.Unsupported("samples of different sizes")
		}
	}
	p.separate = p.separate && p.samples > 1
	if err := p.readable(d); err != nil {
		return nil, err
	}
	if p.photometric == palette && uint64(3)<<p.bits > p.map16.count {
		return nil, errors.New("its palette is cut short")
	}
	for i := p.colours; i < p.samples; i++ {
		if kind := f.uint(d[tagExtra], i-p.colours, 0); p.alpha < 0 && (kind == 1 || kind == 2) && p.photometric != palette && p.colours < 4 {
			p.alpha, p.associated = i, kind == 1
		}
	}
	return p, p.layout(d)
}

// noData is the number in a text, or NaN.
func noData(e entry) float64 {
	v, err := strconv.ParseFloat(strings.Trim(string(e.bytes), " \x00"), 64)
	if err != nil {
		return math.NaN()
	}
	return v
}

// readable returns an error for kinds of pictures that we do not read.
func (p *page) readable(d map[uint16]entry) error {
	name := compressions[p.compression]
	if name == "" {
		name = fmt.Sprint(p.compression)
	}
	jpeg := p.compression == 7
	switch p.compression {
	case 1, 3, 4, 5, 7, 8, 32773, 32946:
	default:
		return raster.Unsupported("the compression " + name)
	}
	if p.compression == 3 && p.faxOptions != 0 {
		return raster.Unsupported("the compression CCITT group 3 in two dimensions, or with fill bits")
	}
	fax := p.compression == 3 || p.compression == 4
	if fax && (p.bits != 1 || p.samples != 1) {
		return errors.New("CCITT compression has one bit a pixel")
	}
	if p.format == 4 || p.format == 0 { // undefined
		p.format = 1
	}
	switch {
	case p.format == 5 || p.format == 6:
		return raster.Unsupported("complex numbers")
	case p.format == 3 && p.bits != 16 && p.bits != 32 && p.bits != 64:
		return raster.Unsupported(fmt.Sprintf("floats of %d bits", p.bits))
	case p.format > 3, p.bits < 1, p.bits > 64:
		return fmt.Errorf("it declares samples of format %d with %d bits", p.format, p.bits)
	case jpeg && p.bits != 8:
		return raster.Unsupported(fmt.Sprintf("JPEG of %d bits", p.bits))
	case p.predictor == 3 && p.format != 3, p.predictor > 3, p.predictor < 1:
		return fmt.Errorf("its predictor %d does not fit its samples", p.predictor)
	}
	switch p.photometric {
	case whiteIsZero, blackIsZero, palette:
		p.colours = 1
		if p.photometric == blackIsZero && p.samples >= 3 && d[tagExtra].count == 0 {
			p.colours = 3 // some programs write this for RGB
		}
	case rgb:
		p.colours = 3
	case cmyk:
		if p.colours = 4; p.uint(d[tagInkSet], 0, 1) != 1 {
			return raster.Unsupported("other inks than CMYK")
		}
	case yCbCr:
		p.colours = 3
		if !jpeg && (p.uint(d[tagSubsampling], 0, 2) != 1 || p.uint(d[tagSubsampling], 1, 2) != 1 || p.bits != 8) {
			return raster.Unsupported("subsampled YCbCr without JPEG")
		}
	default:
		names := map[uint64]string{4: "transparency masks", 8: "CIE L*a*b*", 9: "ICC L*a*b*", 10: "ITU L*a*b*", 32803: "colour filter arrays", 32844: "LogL", 32845: "LogLuv", 34892: "linear raw"}
		if names[p.photometric] == "" {
			return raster.Unsupported(fmt.Sprintf("the photometric interpretation %d", p.photometric))
		}
		return raster.Unsupported("" + names[p.photometric])
	}
	if p.samples < p.colours {
		return fmt.Errorf("it declares %d samples for %d colours", p.samples, p.colours)
	}
	if p.photometric == palette && (p.bits > 8 || p.format != 1) {
		return raster.Unsupported(fmt.Sprintf("a palette for %d bits", p.bits))
	}
	return nil
}

// layout finds the strips or tiles. Each has an offset and a length in the file. A directory that
// promises more of them than the file has room for is refused.
func (p *page) layout(d map[uint16]entry) error {
	p.offsets, p.counts = d[tagStripOffsets], d[tagStripCounts]
	p.tileW, p.tileH = p.w, int(min(p.uint(d[tagStripRows], 0, 0), uint64(p.h)))
	if p.tileH == 0 {
		p.tileH = p.h
	}
	if e, tiled := d[tagTileWidth]; tiled {
		w, h := p.uint(e, 0, 0), p.uint(d[tagTileHeight], 0, 0)
		if w > maxSide || h > maxSide {
			return fmt.Errorf("it declares tiles of %d×%d pixels", w, h)
		}
		p.tileW, p.tileH = int(w), int(h)
		if e, named := d[tagTileOffsets]; named {
			p.offsets = e
		}
		if e, named := d[tagTileCounts]; named {
			p.counts = e
		}
	}
	if p.tileW < 1 || p.tileH < 1 {
		return fmt.Errorf("it declares strips or tiles of %d×%d pixels", p.tileW, p.tileH)
	}
	p.across, p.down = (p.w+p.tileW-1)/p.tileW, (p.h+p.tileH-1)/p.tileH
	chunks := uint64(p.across) * uint64(p.down) * uint64(p.planes())
	if p.offsets.count < chunks || (p.counts.count < chunks && p.counts.count > 0) {
		return fmt.Errorf("it names %d strips or tiles of %d", min(p.offsets.count, p.counts.count), chunks)
	}
	// Package imageio refuses larger pages by their size.
	if drawn := uint64(p.across*p.tileW) * uint64(p.h) * uint64(p.samples) * uint64(p.bits+7) / 8; drawn > largestDraw && p.w*p.h <= largestPage {
		return raster.Unsupported("more than 1 GiB in memory")
	}
	return nil
}

// planes is how many planes of samples are stored one after another.
func (p *page) planes() int {
	if p.separate {
		return p.samples
	}
	return 1
}

// samplesPerPlane is how many samples of a pixel lie side by side in a plane.
func (p *page) samplesPerPlane() int { return p.samples / p.planes() }

// chunk is strip or tile i in the file. Some programs leave out the lengths, or write 0, or a wrong
// one of the only strip. The length then follows from the samples, or the chunk runs to the next one.
func (p *page) chunk(i int) ([]byte, error) {
	at, size := p.uint(p.offsets, i, 0), p.uint(p.counts, i, 0)
	only := p.across*p.down*p.planes() == 1
	next := p.uint(p.offsets, i+1, uint64(len(p.data)))
	switch {
	case at > 0 && (size == 0 || only) && p.compression == 1, at > 0 && size == 0 && only:
		size = uint64(len(p.data))
	case at > 0 && size == 0 && next > at:
		size = next - at
	}
	if at > uint64(len(p.data)) || p.shift > uint64(len(p.data))-at {
		return nil, raster.ErrShort
	}
	at += p.shift
	return p.data[at:][:min(size, uint64(len(p.data))-at)], nil
}

// stack is the number of slices that the only directory stands for, and selects one of them. ImageJ
// writes a large stack so: "images=N", and slices one after another. Only slices count that the
// file holds as a whole, before anything else that the directory names.
func (p *page) stack(d map[uint16]entry, at uint64, slice int) int {
	text, found := strings.CutPrefix(string(d[tagDescription].bytes), "ImageJ=")
	_, text, named := strings.Cut(text, "\nimages=")
	text, _, _ = strings.Cut(text, "\n")
	images, err := strconv.ParseUint(text, 10, 32)
	if !found || !named || err != nil || p.bare || p.compression != 1 || p.tileW != p.w {
		return 1
	}
	first := p.uint(p.offsets, 0, 0)
	row := uint64(p.w*p.samplesPerPlane()*p.bits+7) / 8
	for i := range p.down * p.planes() { // the strips must be contiguous
		if p.uint(p.offsets, i, 0) != first+row*(uint64(i/p.down*p.h)+uint64(i%p.down*p.tileH)) {
			return 1
		}
	}
	end := uint64(len(p.data))
	for _, e := range d {
		if e.at > first {
			end = min(end, e.at)
		}
	}
	if at > first {
		end = min(end, at)
	}
	size := row * uint64(p.h*p.planes())
	if first > end || images < 2 {
		return 1
	}
	slices := int(max(1, min(images, (end-first)/size)))
	if slice <= slices {
		p.shift = uint64(slice-1) * size
	}
	return slices
}

// wide reports whether samples are kept as floats until their range is known.
func (p *page) wide() bool {
	return p.format != 1 || p.bits > 16 || !math.IsNaN(p.none) && p.photometric != palette
}

// memory is the peak of decode: the picture, a row, and a JPEG tile or the converted picture.
func (p *page) memory() int64 {
	pixels := int64(p.w) * int64(p.h)
	each := int64(1)
	if p.colours > 1 || p.alpha >= 0 {
		each = 4
	}
	switch {
	case p.wide():
		each += 4 * int64(p.channels())
	case p.bits > 8:
		each *= 2
	}
	beside := int64(0) // the picture
	if each == 1 || p.orientation != 1 || p.colours == 1 {
		beside = 3 * pixels // Image's pixels
	}
	if p.compression == 7 {
		beside = max(beside, p.largestJPEG())
	}
	total := pixels*each + beside + int64(p.tileW)*int64(p.samplesPerPlane())*16 + 1<<20
	if p.bits > 8 || p.wide() {
		total += raster.RangeMemory
	}
	return total
}

// least is the least size of the strips, at the compression's largest ratio.
func (p *page) least() int64 {
	raw := int64(p.w) * int64(p.h) * int64(p.samples) * int64(p.bits) / 8
	switch p.compression {
	case 1:
		return raw
	case 5:
		return raw / 2731
	case 32773:
		return raw / 64
	case 8, 32946:
		return raw / 1032
	case 7:
		return raw / 2048
	}
	return raw / 65536
}

// channels is how many values a pixel of the picture has: colours, and alpha if there is any.
func (p *page) channels() int {
	if p.alpha >= 0 {
		return p.colours + 1
	}
	return p.colours
}
