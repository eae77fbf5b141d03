package raster

import "io"

// PackBits decompresses Apple's run lengths, which TIFF and DICOM use.
func PackBits(data []byte) io.Reader { return &packBits{data: data} }

type packBits struct {
	data        []byte
	literal     int // bytes to copy
	repeated    int // bytes to repeat
	repeatedOne byte
}

func (b *packBits) Read(out []byte) (n int, err error) {
	for n < len(out) {
		switch {
		case b.repeated > 0:
			out[n] = b.repeatedOne
			b.repeated--
			n++
		case b.literal > 0:
			if len(b.data) == 0 {
				return n, io.ErrUnexpectedEOF
			}
			copied := copy(out[n:], b.data[:min(b.literal, len(b.data))])
			b.data, b.literal, n = b.data[copied:], b.literal-copied, n+copied
		case len(b.data) < 2:
			return n, io.EOF
		default:
			head := int8(b.data[0])
			b.data = b.data[1:]
			if head >= 0 {
				b.literal = int(head) + 1
			} else if head != -128 {
				b.repeated, b.repeatedOne = 1-int(head), b.data[0]
				b.data = b.data[1:]
			}
		}
	}
	return n, nil
}
