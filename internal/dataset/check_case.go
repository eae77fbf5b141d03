package dataset

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"mrprism/internal/imageio"
	"mrprism/internal/metric"
)

// caseFigures are what Check keeps of a case.
type caseFigures struct {
	Case
	read     bool     // image and masks were read
	hash     [32]byte // of size and pixels
	grey     bool
	bits     int           // of 16-bit samples, how many the image uses
	marks    [][]mark      // (K, M)
	pairs    [][][]float64 // (K, M, M) Dice of raters a and b, at [a][b] for b < a
	findings []Finding
}

// mark is one mask in figures.
type mark struct {
	given    bool
	area     int     // pixels
	share    float64 // of the image
	compared bool    // another rater marked the class too
	dice     float64 // mean Dice with the others
	pairs    int     // of others
	rest     float64 // their mean Dice with each other
	ratio    float64 // area to the others' mean; 0 where either is empty
}

func (c *caseFigures) warn(kind, file, format string, args ...any) {
	c.findings = append(c.findings, Finding{Kind: kind, File: file, Text: fmt.Sprintf(format, args...)})
}

// look reads a case. All that is found by reading it is told; where there is any, the rest stays unread.
func (d *Dataset) look(c Case) *caseFigures {
	f := &caseFigures{Case: c}
	faults := slices.Clone(c.faults)
	l, err := Load(c)
	if p, bad := err.(Problems); bad {
		for _, text := range p {
			if !slices.Contains(faults, text) { // a header's fault shows again
				faults = append(faults, text)
			}
		}
	}
	if err == nil {
		_, err := newSample(l, -1)
		if p, bad := err.(Problems); bad {
			faults = append(faults, p...)
		}
	}
	for _, text := range faults {
		f.findings = append(f.findings, Finding{Error: true, Kind: KindFault, Text: text})
	}
	if len(faults) > 0 {
		return f
	}
	f.read = true
	f.picture(l.Image)
	for k := range d.Classes {
		f.class(d, l, k)
	}
	return f
}

// picture looks at the image alone.
func (f *caseFigures) picture(m *imageio.Image) {
	const (
		short = 64 // pixels, the least side that a network is trained at
		long  = 2  // longer side to shorter
	)
	hash := sha256.New()
	_ = binary.Write(hash, binary.LittleEndian, [2]uint32{uint32(m.W), uint32(m.H)})
	hash.Write(m.Pix)
	hash.Sum(f.hash[:0])
	f.grey, f.bits = true, m.Bits
	blank := true
	for i := 0; i < len(m.Pix); i += 3 {
		p := m.Pix[i : i+3]
		f.grey = f.grey && p[0] == p[1] && p[0] == p[2]
		blank = blank && p[0] == m.Pix[0] && p[1] == m.Pix[1] && p[2] == m.Pix[2]
	}
	if blank {
		f.warn(KindBlank, f.Image, "is of one colour, %d,%d,%d", m.Pix[0], m.Pix[1], m.Pix[2])
	}
	switch shorter, longer := min(m.W, m.H), max(m.W, m.H); {
	case shorter < short:
		f.warn(KindSize, f.Image, "is %d×%d pixels; sides under %d are enlarged", m.W, m.H, short)
	case longer > long*shorter:
		f.warn(KindSize, f.Image, "is %d×%d pixels; more than half of the square that the network sees would be its edge, continued", m.W, m.H)
	}
	if m.Orientation != 1 {
		f.warn(KindTurned, f.Image, "is displayed turned (EXIF orientation %d), as it is trained on; make sure that its masks were drawn so", m.Orientation)
	}
}

// class compares the masks of class k.
func (f *caseFigures) class(d *Dataset, l *Loaded, k int) {
	raters := len(d.Raters)
	marks, pairs := make([]mark, raters), make([][]float64, raters)
	total := l.Image.W * l.Image.H
	for a := range raters {
		mask := l.Masks[a][k]
		pairs[a] = make([]float64, a)
		if mask == nil {
			continue
		}
		marks[a] = mark{given: true}
		for _, v := range mask {
			marks[a].area += int(v)
		}
		marks[a].share = float64(marks[a].area) / float64(total)
		for b := range a {
			if l.Masks[b][k] != nil {
				pairs[a][b] = metric.Dice(mask, l.Masks[b][k])
			}
		}
	}
	for m := range marks {
		marks[m].compare(marks, pairs, m)
	}
	f.marks, f.pairs = append(f.marks, marks), append(f.pairs, pairs)
	if d.Levels {
		f.levels(d, l, k)
		return
	}
	for m := range marks {
		if marks[m].given {
			f.judge(d, l, m, k)
		}
	}
}

// compare sets how rater m stands beside the others.
func (a *mark) compare(marks []mark, pairs [][]float64, m int) {
	others, area := 0, 0
	for b := range marks {
		if b == m || !marks[b].given || !a.given {
			continue
		}
		others++
		area += marks[b].area
		a.dice += pairs[max(m, b)][min(m, b)]
		for c := range b {
			if c != m && marks[c].given {
				a.pairs++
				a.rest += pairs[b][c]
			}
		}
	}
	if others == 0 {
		return
	}
	a.compared = true
	a.dice /= float64(others)
	a.rest /= float64(max(a.pairs, 1))
	if area > 0 {
		a.ratio = float64(a.area) * float64(others) / float64(area)
	}
}

// judge warns of a mask that can hardly be meant, of the likeliest reason alone.
func (f *caseFigures) judge(d *Dataset, l *Loaded, m, k int) {
	const (
		far    = 0.25 // less Dice with the others than they have among themselves
		hardly = 0.3  // Dice of two raters who mean different things
	)
	a, path := f.marks[k][m], l.Case.Masks[m][k]
	switch {
	case a.area == len(l.Masks[m][k]):
		f.warn(KindInverted, path, "marks the whole image as %s", d.Classes[k])
	case a.area == 0 && a.compared && f.others(m, k) > 0:
		f.warn(KindEmpty, path, "is empty; %d other raters marked the %s", f.others(m, k), d.Classes[k])
	case a.area == 0 && !a.compared:
		f.warn(KindEmpty, path, "is empty")
	case a.area == 0:
	case inverted(l, m, k, a):
		f.warn(KindInverted, path, "marks %.0f %% of the image as %s, all but what is to be expected: black and white exchanged?", 100*a.share, d.Classes[k])
	case !a.compared:
	case a.pairs == 0 && a.dice < hardly:
		f.warn(KindMask, path, "Dice %.2f with the only other rater; its area is %.2f times theirs", a.dice, a.ratio)
	case a.pairs > 0 && a.dice < a.rest-far:
		f.warn(KindMask, path, "mean Dice %.2f with the other raters, who have %.2f among themselves; its area is %.2f times theirs", a.dice, a.rest,
			a.ratio)
	}
}

// others counts the other raters who marked any of class k.
func (f *caseFigures) others(m, k int) (n int) {
	for b, o := range f.marks[k] {
		n += btoi(b != m && o.area > 0)
	}
	return n
}

// inverted reports whether a mask of more than half of the image fits better when exchanged with its background: with the majority of
// the others, or, where they do not speak against it, because it marks the image's border.
func inverted(l *Loaded, m, k int, a mark) bool {
	const (
		gain   = 0.25 // of Dice
		border = 0.9  // share of the border that is marked
	)
	if a.share <= 0.5 {
		return false
	}
	own := l.Masks[m][k]
	if a.compared {
		turned := make([]uint8, len(own))
		for i, v := range own {
			turned[i] = 1 - v
		}
		sum, n := 0., 0
		for b := range l.Masks {
			if other := l.Masks[b][k]; b != m && other != nil {
				sum += metric.Dice(turned, other)
				n++
			}
		}
		if sum/float64(n) > a.dice+gain {
			return true
		}
		if a.dice < 0.5 {
			return false
		}
	}
	return edge(own, l.Image.W, l.Image.H) > border
}

// edge is the share of a mask's border pixels that are marked.
func edge(mask []uint8, w, h int) float64 {
	marked, all := 0, 0
	for y := range h {
		step := max(1, w-1)
		if y == 0 || y == h-1 {
			step = 1
		}
		for x := 0; x < w; x += step {
			all++
			marked += int(mask[y*w+x])
		}
	}
	return float64(marked) / math.Max(1, float64(all))
}

// levels wants every agreement level within the one below.
func (f *caseFigures) levels(d *Dataset, l *Loaded, k int) {
	if first := f.marks[k][0]; first.given && first.area == 0 {
		f.warn(KindEmpty, l.Case.Masks[0][k], "is empty: not one expert marked the %s", d.Classes[k])
	}
	for m := 1; m < len(l.Masks); m++ {
		upper, lower := l.Masks[m][k], l.Masks[m-1][k]
		if upper == nil || lower == nil {
			continue
		}
		outside := 0
		for i, v := range upper {
			outside += int(v &^ lower[i])
		}
		if outside > 0 {
			f.warn(KindNesting, l.Case.Masks[m][k], "%d of its %d pixels are not in %s, the level below", outside, f.marks[k][m].area, d.Raters[m-1])
		}
	}
}
