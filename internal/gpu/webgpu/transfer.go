//go:build js || cgo

package webgpu

import "mrprism/internal/gpu"

// stagingBytes is what one copy to or from the CPU takes at most.
const stagingBytes = 8 << 20

// piece is bytes [from, from+size) of a buffer, whole words; dst takes those from skip on.
type piece struct {
	buffer           *buffer
	from, size, skip int
	dst              []byte
}

// split cuts ranges, which are valid for this device's buffers, into pieces of at most stagingBytes.
func (d *device) split(ranges []gpu.Range) []piece {
	var pieces []piece
	for _, r := range ranges {
		b, begin, _ := d.own(r.Buffer)
		for from, dst := begin+r.Offset*b.spec.Type.Size(), r.Dst; len(dst) > 0; {
			skip := from % 4
			n := min(len(dst), stagingBytes-skip)
			pieces = append(pieces, piece{buffer: b, from: from - skip, size: (skip + n + 3) / 4 * 4, skip: skip, dst: dst[:n]})
			from, dst = from+n, dst[n:]
		}
	}
	return pieces
}

// batch takes from the pieces as many as fit the staging buffer together, and says their bytes.
func batch(pieces []piece) (n, total int) {
	for n < len(pieces) && total+pieces[n].size <= stagingBytes {
		total += pieces[n].size
		n++
	}
	return n, total
}

// deliver gives the pieces their bytes, which lie one piece after the other.
func deliver(pieces []piece, bytes []byte) {
	for _, p := range pieces {
		copy(p.dst, bytes[p.skip:p.size])
		bytes = bytes[p.size:]
	}
}

// wholeWords is src with zeros up to the next word.
func wholeWords(src []byte) []byte {
	if n := len(src) % 4; n != 0 {
		return append(append([]byte(nil), src...), make([]byte, 4-n)...)
	}
	return src
}
