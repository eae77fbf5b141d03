package importer

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"io"
	"slices"

	"mrprism/internal/files/imageio"
)

// drawing is a mask: a rectangle of the image, outside which nothing is marked.
type drawing struct {
	image.Rectangle
	values []uint8 // 0 or 1
}

// cut has the pixels of another rectangle.
func (d *drawing) cut(to image.Rectangle) []uint8 {
	out, common := make([]uint8, to.Dx()*to.Dy()), d.Intersect(to)
	for y := common.Min.Y; y < common.Max.Y; y++ {
		copy(out[(y-to.Min.Y)*to.Dx()+common.Min.X-to.Min.X:][:common.Dx()], d.values[(y-d.Min.Y)*d.Dx()+common.Min.X-d.Min.X:])
	}
	return out
}

// shrunk reduces a mask of a picture of w × h pixels. Pixels become 1 if more than half of their area
// is marked. Areas are integers: a source pixel is divided into L parts, L = the longer side of the
// target. Pixels outside the image repeat the border.
func (d *drawing) shrunk(w, h, newW, newH int) *drawing {
	if newW == w {
		return d
	}
	side, longest := max(w, h), max(newW, newH)
	small := func(from, to, n, newN int) (int, int) {
		if to == n {
			return from * longest / side, newN
		}
		return from * longest / side, min((to*longest+side-1)/side, newN)
	}
	out := &drawing{}
	out.Min.X, out.Max.X = small(d.Min.X, d.Max.X, w, newW)
	out.Min.Y, out.Max.Y = small(d.Min.Y, d.Max.Y, h, newH)
	rows := make([][]int, d.Dy()) // where marks begin and end in each, in turn, in parts
	for y := range rows {
		for _, x := range runs(d.values[y*d.Dx() : (y+1)*d.Dx()]) {
			if x += d.Min.X; x == w {
				x = (newW*side + longest - 1) / longest
			}
			rows[y] = append(rows[y], x*longest)
		}
	}
	steps := make([]int, newW+2) // by output pixel: the parts that are marked in it less those in the one before
	for y := out.Min.Y; y < out.Max.Y; y++ {
		clear(steps)
		for at := max(y*side/longest, d.Min.Y); at < d.Max.Y && at*longest < (y+1)*side; at++ {
			end := min((at+1)*longest, (y+1)*side)
			if at == h-1 {
				end = (y + 1) * side
			}
			for run := range slices.Chunk(rows[at-d.Min.Y], 2) {
				mark(steps, run[0], min(run[1], newW*side), side, end-max(at*longest, y*side))
			}
		}
		area := 0
		for x := range out.Max.X {
			if area += steps[x]; x < out.Min.X {
				continue
			}
			v := uint8(0)
			if 2*area > side*side {
				v = 1
			}
			out.values = append(out.values, v)
		}
	}
	return out
}

// mark adds a run of a row, of which an output row has so many parts, to steps of output pixels.
func mark(steps []int, from, to, side, parts int) {
	first, last := from/side, (to-1)/side
	add := func(x, area int) { steps[x], steps[x+1] = steps[x]+area*parts, steps[x+1]-area*parts }
	if first == last {
		add(first, to-from)
		return
	}
	add(first, (first+1)*side-from)
	add(last, to-last*side)
	steps[first+1] += side * parts
	steps[last] -= side * parts
}

// runs is where marks begin and end in a row, in turn.
func runs(row []uint8) (at []int) {
	inside, even := uint8(0), uint64(0) // eight pixels that are so
	for x := 0; x < len(row); {
		if x+8 <= len(row) && binary.LittleEndian.Uint64(row[x:]) == even {
			x += 8
			continue
		}
		if row[x] != inside {
			inside ^= 1
			even = uint64(inside) * 0x0101010101010101
			at = append(at, x)
		}
		x++
	}
	if inside == 1 {
		at = append(at, len(row))
	}
	return at
}

// grey is a picture of one value a pixel, without the first and last rows of zeros.
type grey struct {
	w, h, top int
	values    []uint8
	mask      *drawing // once it is known
}

// row is a row of the picture, or nil for one of zeros.
func (g *grey) row(y int) []uint8 {
	if at := (y - g.top) * g.w; at >= 0 && at < len(g.values) {
		return g.values[at : at+g.w]
	}
	return nil
}

// threshold returns the pixels of 128 and more, as a mask.
func (g *grey) threshold() *drawing {
	if g.mask != nil {
		return g.mask
	}
	g.mask = &drawing{}
	for y := range g.h {
		row := g.row(y)
		first, last := 0, len(row)
		for first+8 <= last && binary.LittleEndian.Uint64(row[first:]) == 0 {
			first += 8
		}
		for first < last && row[first] < 128 {
			first++
		}
		for first+8 <= last && binary.LittleEndian.Uint64(row[last-8:]) == 0 {
			last -= 8
		}
		for first < last && row[last-1] < 128 {
			last--
		}
		g.mask.Rectangle = g.mask.Union(image.Rect(first, y, last, y+1))
	}
	for y := g.mask.Min.Y; y < g.mask.Max.Y; y++ {
		for _, v := range g.row(y)[g.mask.Min.X:g.mask.Max.X] {
			g.mask.values = append(g.mask.values, v>>7)
		}
	}
	return g.mask
}

// greyOf decodes a picture of at most w × h pixels.
func greyOf(name string, data []byte, w, h int) (*grey, error) {
	about, err := imageio.Header(name, data)
	if err == nil && (about.W > w || about.H > h) {
		err = fmt.Errorf("%s is %d×%d pixels, its image %d×%d", name, about.W, about.H, w, h)
	}
	if err != nil {
		return nil, err
	}
	if g := plainPNG(data, about.W, about.H); g != nil {
		return g, nil
	}
	m, err := imageio.DecodeMask(name, data) // and its message, if the file is damaged
	if err != nil {
		return nil, err
	}
	g := &grey{w: m.W, h: m.H, values: make([]uint8, m.W*m.H)}
	for i := range g.values {
		g.values[i] = m.Pix[3*i]
	}
	return g, nil
}

// plainPNG decodes a PNG of 8 grey bits a pixel, as the page writes masks; nil if it is another
// picture, or damaged. zlib's sum is not compared, as those of the chunks are. Most rows of a mask are
// empty: image/png takes longer, and a hundred times the memory.
func plainPNG(data []byte, w, h int) *grey {
	const header = "\x08\x00\x00\x00\x00" // 8 bits, grey, deflated, filtered, not interlaced
	if !bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")) || string(data[24:29]) != header {
		return nil
	}
	var parts []io.Reader // of the compressed pixels
	for at := 8; at+12 <= len(data); {
		size := int(binary.BigEndian.Uint32(data[at:]))
		if size > len(data)-at-12 {
			return nil
		}
		kind, body := string(data[at+4:at+8]), data[at+8:at+8+size]
		if crc32.ChecksumIEEE(data[at+4:at+8+size]) != binary.BigEndian.Uint32(data[at+8+size:]) {
			return nil
		}
		switch kind {
		case "IDAT":
			parts = append(parts, bytes.NewReader(body))
		case "tRNS", "eXIf":
			return nil
		}
		at += 12 + size
	}
	packed := bufio.NewReader(io.MultiReader(parts...)) // of which flate reads single bytes
	if _, err := packed.Discard(2); err != nil {        // the header of zlib
		return nil
	}
	pixels := flate.NewReader(packed)
	g := &grey{w: w, h: h}
	empty, buffer := make([]uint8, w+1), make([]uint8, w+1)
	before := empty[1:]
	for y := range h {
		if _, err := io.ReadFull(pixels, buffer); err != nil || buffer[0] > 4 {
			return nil
		}
		if dark := &before[0] == &empty[1]; bytes.Equal(buffer[1:], empty[1:]) && (buffer[0] < 2 || dark) {
			if before = empty[1:]; g.values != nil {
				g.values = append(g.values, before...)
			}
			continue
		}
		if g.values == nil {
			g.top = y
		}
		g.values = append(g.values, buffer[1:]...)
		row := g.values[len(g.values)-w:]
		unfilter(buffer[0], row, before)
		before = row
	}
	return g
}

// unfilter has the values of a row of a PNG, given the row before.
func unfilter(filter uint8, row, before []uint8) {
	left, corner := uint8(0), uint8(0)
	switch filter {
	case 1:
		for x := range row {
			row[x] += left
			left = row[x]
		}
	case 2:
		for x, up := range before {
			row[x] += up
		}
	case 3:
		for x, up := range before {
			row[x] += uint8((int(left) + int(up)) / 2)
			left = row[x]
		}
	case 4:
		for x, up := range before {
			if left|up|corner != 0 {
				row[x] += paeth(left, up, corner)
			}
			left, corner = row[x], up
		}
	}
}

// paeth is the neighbour that lies nearest to left + up - corner.
func paeth(left, up, corner uint8) uint8 {
	guess := int(left) + int(up) - int(corner)
	distance := func(v uint8) int { return max(guess-int(v), int(v)-guess) }
	switch {
	case distance(left) <= distance(up) && distance(left) <= distance(corner):
		return left
	case distance(up) <= distance(corner):
		return up
	}
	return corner
}
