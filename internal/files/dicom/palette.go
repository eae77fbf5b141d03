package dicom

import (
	"errors"
	"math"
)

// palette has the entries of one of red, green and blue: value first + i becomes entry i. Values
// outside become the first or the last entry. Source: PS3.3 C.7.6.3.1.5 and C.7.9.2.
type palette struct {
	first   int
	entries []uint8
}

// palette reads the palette of colour c.
func (f *frame) palette(c uint32) (*palette, error) {
	count, first, bits, ok := f.descriptor(0x00281101+c, f.signed)
	if !ok {
		return nil, errors.New("its palette is missing")
	}
	p, plain := &palette{first: first}, f.found[0x00281201+c]
	wide := bits > 8 || len(plain) >= 2*count // some programs write 8 bits in 16
	entries := f.words(0x00281201+c, wide)
	if len(plain) == 0 {
		var err error
		if entries, err = segmented(f.words(0x00281221+c, wide), wide, count); err != nil {
			return nil, err
		}
	}
	if len(entries) < count {
		return nil, errors.New("its palette is cut short")
	}
	most := uint16(0)
	for _, v := range entries[:count] {
		most = max(most, v)
	}
	for _, v := range entries[:count] {
		if most > 255 {
			v >>= 8
		}
		p.entries = append(p.entries, uint8(v))
	}
	return p, nil
}

// segmented unpacks a palette of count entries that is written in segments. A segment begins with
// its kind and its length. Kind 0 has as many entries. Kind 1 is a straight line of this length to
// the entry that follows. Kind 2 repeats as many segments from the offset in bytes that follows.
func segmented(words []uint16, wide bool, count int) (entries []uint16, err error) {
	size := 1
	if wide {
		size = 2
	}
	wrong := errors.New("its palette has a segment that is wrong")
	var unpack func(at, segments int, again bool) error
	unpack = func(at, segments int, again bool) error {
		for ; segments > 0 && at+1 < len(words) && len(entries) < count; segments-- {
			kind, length := words[at], int(words[at+1])
			at += 2
			switch rest := words[at:]; {
			case length == 0:
				return wrong
			case kind == 0 && length <= len(rest):
				entries = append(entries, rest[:length]...)
				at += length
			case kind == 1 && len(rest) > 0 && len(entries) > 0:
				from := float64(entries[len(entries)-1])
				for i := range length {
					entries = append(entries, uint16(math.Round(from+(float64(rest[0])-from)*float64(i+1)/float64(length))))
				}
				at++
			case kind == 2 && len(rest) >= 4/size && !again:
				offset := int(rest[0]) | int(rest[1])<<(8*size)
				if !wide {
					offset |= int(rest[2])<<16 | int(rest[3])<<24
				}
				if offset%size != 0 || offset/size >= at {
					return wrong
				}
				if err := unpack(offset/size, length, true); err != nil {
					return err
				}
				at += 4 / size
			default:
				return wrong
			}
		}
		return nil
	}
	return entries, unpack(0, len(words), false)
}

// lookUp writes the palette's colours of values to RGBA pixels.
func (f *frame) lookUp(values []float32, pix []uint8) error {
	for c := range 3 {
		p, err := f.palette(uint32(c))
		if err != nil {
			return err
		}
		for i, v := range values {
			pix[4*i+c] = p.entries[min(max(int(v)-p.first, 0), len(p.entries)-1)]
			pix[4*i+3] = 255
		}
	}
	return nil
}
