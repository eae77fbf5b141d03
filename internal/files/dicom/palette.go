package dicom

import (
	"errors"
	"math"
	"slices"
)

// palette is that of colour c, as levels. Some programs write 8 bits, others the same times 256.
// Source: PS3.3 C.7.6.3.1.5 and C.7.9.2.
func (f *frame) palette(c uint32) (*table, error) {
	t, err := f.table("palette", 0x00281101+c, 0x00281201+c, 0x00281221+c, f.signed)
	if err == nil && slices.Max(t.entries) > 255 {
		for i := range t.entries {
			t.entries[i] >>= 8
		}
	}
	return t, err
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
			pix[4*i+c] = uint8(p.entry(v))
			pix[4*i+3] = 255
		}
	}
	return nil
}
