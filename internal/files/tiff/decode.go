package tiff

import (
	"bytes"
	"compress/zlib"
	"errors"
	"image"
	"image/color"
	"io"
	"math"
	"math/bits"

	"golang.org/x/image/ccitt"
	"golang.org/x/image/tiff/lzw"

	"mrprism/internal/files/raster"
	"mrprism/shaders/half"
	"mrprism/shaders/pulse"
)

// decode reads all strips or tiles.
func (p *page) decode() (image.Image, error) {
	c := newCanvas(p)
	if err := p.fill(c); err != nil {
		return nil, err
	}
	return c.finish(), nil
}

// fill reads the strips or tiles into a canvas.
func (p *page) fill(c *canvas) error {
	i := 0
	for plane := range p.planes() {
		for row := range p.down {
			for column := range p.across {
				data, err := p.chunk(i)
				if err != nil {
					return err
				}
				if p.compression == 7 {
					err = p.picture(c, data, column, row, plane)
				} else {
					err = p.rows(c, data, column, row, plane)
				}
				if err != nil {
					return err
				}
				i++
			}
		}
	}
	return nil
}

// rows decompresses a strip or tile row by row.
func (p *page) rows(c *canvas, data []byte, column, row, plane int) error {
	samples := p.samplesPerPlane()
	if plane >= p.colours && plane != p.alpha && p.separate {
		return nil // the plane is not shown
	}
	r, err := p.reader(data, min(p.tileH, p.h-row*p.tileH))
	if err != nil {
		return err
	}
	line := make([]byte, (p.tileW*samples*p.bits+7)/8)
	values := make([]uint64, p.tileW*samples)
	x := column * p.tileW
	for y := row * p.tileH; y < min((row+1)*p.tileH, p.h); y++ {
		pulse.Beat()
		if _, err := io.ReadFull(r, line); err != nil {
			if err == io.EOF || err == io.ErrUnexpectedEOF {
				err = raster.ErrShort
			}
			return err
		}
		if c.takesRows() {
			c.setRow(x, y, min(p.tileW, p.w-x), line)
			continue
		}
		p.unpack(line, values)
		if p.predictor == 2 {
			for i := samples; i < len(values); i++ {
				values[i] += values[i-samples]
			}
		}
		mask := ^uint64(0) >> (64 - p.bits)
		for i := range min(p.tileW, p.w-x) {
			for s := range samples {
				if channel := p.channel(plane + s); channel >= 0 {
					c.set(x+i, y, channel, values[i*samples+s]&mask)
				}
			}
		}
	}
	return nil
}

// channel is the picture's channel for a sample of the file, or −1 if it is not shown.
func (p *page) channel(sample int) int {
	switch {
	case sample < p.colours:
		return sample
	case sample == p.alpha:
		return p.colours
	}
	return -1
}

// reader decompresses a strip or tile of a number of rows.
func (p *page) reader(data []byte, rows int) (io.Reader, error) {
	if p.reversed && p.compression != 3 && p.compression != 4 {
		turned := make([]byte, len(data))
		for i, b := range data {
			turned[i] = bits.Reverse8(b)
		}
		data = turned
	}
	switch r := bytes.NewReader(data); p.compression {
	case 3, 4:
		order, format := ccitt.MSB, ccitt.Group4
		if p.reversed {
			order = ccitt.LSB
		}
		if p.compression == 3 {
			format = ccitt.Group3
		}
		return ccitt.NewReader(r, order, format, p.tileW, rows, &ccitt.Options{Invert: true}), nil
	case 5:
		if len(data) >= 2 && data[0] == 0 && data[1]&1 != 0 {
			return nil, raster.Unsupported("the compression LZW of before 1988")
		}
		return lzw.NewReader(r, lzw.MSB, 8), nil
	case 8, 32946:
		z, err := zlib.NewReader(r)
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return nil, raster.ErrShort
		}
		return z, err
	case 32773:
		return raster.PackBits(data), nil
	default:
		return r, nil
	}
}

// unpack makes numbers of a row's bytes. The caller masks bits that a predictor carries over.
func (p *page) unpack(line []byte, values []uint64) {
	if p.predictor == 3 {
		line = p.joined(line)
	}
	switch p.bits {
	case 8:
		for i, b := range line {
			values[i] = uint64(b)
		}
	case 16:
		for i := range values {
			values[i] = uint64(p.order.Uint16(line[2*i:]))
		}
	case 24, 40, 48, 56, 32, 64:
		size := p.bits / 8
		for i := range values {
			v := uint64(0)
			for k, b := range line[size*i:][:size] {
				if p.order.Uint16([]byte{1, 0}) == 1 { // little endian
					v |= uint64(b) << (8 * k)
				} else {
					v = v<<8 | uint64(b)
				}
			}
			values[i] = v
		}
	default:
		held, kept, at := uint64(0), 0, 0
		for i := range values {
			for kept < p.bits && kept <= 56 {
				held, kept, at = held<<8|uint64(line[at]), kept+8, at+1
			}
			if kept < p.bits { // of 57 to 63 bits the last come from another byte
				need := p.bits - kept
				next := uint64(line[at])
				at++
				values[i] = held<<need | next>>(8-need)
				held, kept = next&(1<<(8-need)-1), 8-need
				continue
			}
			kept -= p.bits
			values[i] = held >> kept
			held &= 1<<kept - 1
		}
	}
}

// joined undoes the predictor of floats: bytes are differences, the highest of all samples first.
func (p *page) joined(line []byte) []byte {
	samples, size := p.samplesPerPlane(), p.bits/8
	for i := samples; i < len(line); i++ {
		line[i] += line[i-samples]
	}
	out := make([]byte, len(line))
	count := len(line) / size
	little := p.order.Uint16([]byte{1, 0}) == 1
	for i := range count {
		for k := range size {
			to := k
			if little {
				to = size - 1 - k
			}
			out[size*i+to] = line[k*count+i]
		}
	}
	return out
}

// completeJPEG is a strip or tile as a JPEG of its own, with the page's tables.
func (p *page) completeJPEG(data []byte) ([]byte, error) {
	if len(data) < 4 || data[0] != 0xff || data[1] != 0xd8 {
		return nil, errors.New("a strip or tile is no JPEG")
	}
	whole := []byte{0xff, 0xd8}
	if p.photometric == rgb || p.photometric == cmyk {
		whole = append(whole, "\xff\xee\x00\x0eAdobe\x00\x64\x00\x00\x00\x00\x00"...) // the components are no YCbCr
	}
	if t := p.tables.bytes; len(t) > 4 {
		whole = append(whole, t[2:len(t)-2]...)
	}
	return append(whole, data[2:]...), nil
}

// largestJPEG is the memory of the strip or tile that takes most. It skips those that Decode
// refuses with an error.
func (p *page) largestJPEG() (most int64) {
	for i := range p.across * p.down * p.planes() {
		data, err := p.chunk(i)
		if err == nil {
			data, err = p.completeJPEG(data)
		}
		if err != nil {
			continue
		}
		for _, h := range []int{p.tileH, p.h - (p.down-1)*p.tileH} {
			most = max(most, p.jpeg.Memory(data, p.tileW, h)+int64(len(data)))
		}
	}
	return most
}

// picture decodes a strip or tile that is a JPEG.
func (p *page) picture(c *canvas, data []byte, column, row, plane int) error {
	x, y := column*p.tileW, row*p.tileH
	w, h := min(p.tileW, p.w-x), min(p.tileH, p.h-y)
	whole, err := p.completeJPEG(data)
	if err != nil {
		return err
	}
	m, err := p.jpeg.Decode(whole, p.tileW, p.tileH)
	if err != nil && h < p.tileH { // a last strip is as high as the rest of the page
		m, err = p.jpeg.Decode(whole, p.tileW, h)
	}
	if err != nil {
		return err
	}
	four, is := m.(*image.CMYK)
	if is != (p.samplesPerPlane() == 4) || is && p.photometric != cmyk && p.photometric != rgb {
		return errors.New("a JPEG in it has other colours than it declares")
	}
	for j := range h {
		for i := range w {
			if is { // image/jpeg inverts, as Adobe does in JPEG files; a TIFF holds the samples as they are
				for k, v := range four.Pix[four.PixOffset(i, j):][:4] {
					if channel := p.channel(k); channel >= 0 {
						c.set(x+i, y+j, channel, uint64(255-v))
					}
				}
				continue
			}
			if p.colours == 1 || p.separate {
				c.set(x+i, y+j, plane, uint64(color.GrayModel.Convert(m.At(i, j)).(color.Gray).Y))
				continue
			}
			r, g, b, _ := m.At(i, j).RGBA()
			c.set(x+i, y+j, 0, uint64(r>>8))
			c.set(x+i, y+j, 1, uint64(g>>8))
			c.set(x+i, y+j, 2, uint64(b>>8))
		}
	}
	return nil
}

// float is a sample as a number.
func (p *page) float(v uint64) float32 {
	switch {
	case p.format == 2:
		return float32(int64(v<<(64-p.bits)) >> (64 - p.bits))
	case p.format == 1:
		return float32(v)
	case p.bits == 64:
		return float32(math.Float64frombits(v))
	case p.bits == 32:
		return math.Float32frombits(uint32(v))
	}
	if f := half.ToFloat32(uint16(v)); f-f == 0 {
		return f
	}
	return float32(math.NaN())
}
