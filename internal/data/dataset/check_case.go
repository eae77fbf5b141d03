package dataset

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"

	"mrprism/internal/data/metric"
	"mrprism/internal/files/imageio"
)

// caseFigures are the figures that Check keeps of a case.
type caseFigures struct {
	Case
	read     bool     // image and masks could be read
	hash     [32]byte // of size and pixels
	thumb    thumb
	grey     bool
	bits     int           // of 16-bit samples, how many the image uses
	marks    [][]mark      // (K, M)
	pairs    [][][]float64 // (K, M, M) Dice of raters a and b, at [a][b] for b < a
	findings []Finding
}

// mark is the figures of one mask. "Others" are the other raters who marked the class.
type mark struct {
	given  bool
	area   int     // pixels
	share  float64 // of the image
	others int
	dice   float64 // mean Dice with the others
	rest   float64 // the others' mean Dice with each other; NaN for fewer than two
	ratio  float64 // area / the others' mean area; 0 if either is empty
	metric.Displacement
}

// look reads a case and lists all its faults. If there are none, it examines the image and the
// masks.
func (d *Dataset) look(c Case) *caseFigures {
	f := &caseFigures{Case: c}
	faults := slices.Clone(c.faults)
	l, err := Load(c)
	if err == nil {
		_, err = newSample(l, -1)
	}
	if p, bad := err.(Problems); bad {
		for _, text := range p {
			if !slices.Contains(faults, text) { // Load finds a header's fault again
				faults = append(faults, text)
			}
		}
	}
	for _, text := range faults {
		fail(&f.findings, KindFault, text)
	}
	if len(faults) > 0 {
		return f
	}
	f.read = true
	f.picture(l.Image)
	for _, path := range l.ones {
		warn(&f.findings, KindValues, path, "holds 0 and 1, and is read as 0 and 255; write 255 for 1, so that other programs and people see it")
	}
	for k := range d.Classes {
		f.class(d, l, k)
	}
	return f
}

// picture examines the image alone.
func (f *caseFigures) picture(m *imageio.Image) {
	const (
		short = 64 // pixels, the least side that a network is trained at
		long  = 2  // longer side to shorter
	)
	hash := sha256.New()
	fmt.Fprintln(hash, m.W, m.H)
	hash.Write(m.Pix)
	hash.Sum(f.hash[:0])
	f.grey, f.bits, f.thumb = m.Grey(), m.Bits, thumbOf(m)
	if bytes.Equal(m.Pix[3:], m.Pix[:len(m.Pix)-3]) { // every pixel equals the next
		warn(&f.findings, KindBlank, f.Image, "is of one colour, %d,%d,%d", m.Pix[0], m.Pix[1], m.Pix[2])
	}
	switch shorter, longer := min(m.W, m.H), max(m.W, m.H); {
	case shorter < short:
		warn(&f.findings, KindSize, f.Image, "is %d×%d pixels; sides under %d are enlarged", m.W, m.H, short)
	case longer > long*shorter:
		warn(&f.findings, KindSize, f.Image, "is %d×%d pixels; more than half of the network's square would be filled with the continued edge", m.W, m.H)
	}
	if m.Orientation != 1 {
		warn(&f.findings, KindTurned, f.Image, "is displayed turned (EXIF orientation %d), and training uses it turned; make sure that its masks were drawn on the turned image", m.Orientation)
	}
}

// class compares the masks of class k.
func (f *caseFigures) class(d *Dataset, l *Loaded, k int) {
	raters := len(d.Raters)
	marks, pairs := make([]mark, raters), make([][]float64, raters)
	for a := range raters {
		mask := l.Masks[a][k]
		pairs[a] = make([]float64, a)
		if mask == nil {
			continue
		}
		area := metric.Area(mask)
		marks[a] = mark{given: true, area: area, share: float64(area) / float64(len(mask))}
		for b := range a {
			if l.Masks[b][k] != nil {
				pairs[a][b] = metric.Dice(mask, l.Masks[b][k])
			}
		}
	}
	for m, d := range metric.Displacements(l.Image.W, l.ByRater(k)...) {
		marks[m].Displacement = d
	}
	f.marks, f.pairs = append(f.marks, marks), append(f.pairs, pairs)
	for m := range marks {
		if marks[m].given {
			marks[m].compare(marks, pairs, m)
		}
		if marks[m].given && !d.Levels {
			f.judge(d, l, m, k)
		}
	}
	if d.Levels {
		f.levels(d, l, k)
	}
}

// compare sets the figures that compare rater m's mask with the others.
func (a *mark) compare(marks []mark, pairs [][]float64, m int) {
	var dice, rest []float64
	area := 0
	for b := range marks {
		if b == m || !marks[b].given {
			continue
		}
		area += marks[b].area
		dice = append(dice, pairs[max(m, b)][min(m, b)])
		for c := range b {
			if c != m && marks[c].given {
				rest = append(rest, pairs[b][c])
			}
		}
	}
	a.others, a.dice, a.rest = len(dice), metric.Mean(dice), metric.Mean(rest)
	if area > 0 {
		a.ratio = float64(a.area) * float64(a.others) / float64(area)
	}
}

// judge warns of a mask that is probably a mistake. It gives only the likeliest reason.
func (f *caseFigures) judge(d *Dataset, l *Loaded, m, k int) {
	const (
		far    = 0.25 // how much lower the Dice with the others is than theirs among themselves
		hardly = 0.3  // Dice of two raters who mean different things
	)
	a, path, class := f.marks[k][m], l.Case.Masks[m][k], d.Classes[k]
	marked := 0 // raters who marked any pixel
	for _, o := range f.marks[k] {
		marked += btoi(o.area > 0)
	}
	switch {
	case a.area == len(l.Masks[m][k]):
		warn(&f.findings, KindInverted, path, "marks the whole image as %s", class)
	case a.area == 0 && marked > 0:
		warn(&f.findings, KindEmpty, path, "is empty; %d other raters marked the %s", marked, class)
	case a.area == 0 && a.others == 0:
		warn(&f.findings, KindEmpty, path, "is empty")
	case a.area == 0:
	case inverted(l, m, k, a):
		warn(&f.findings, KindInverted, path, "marks %.0f %% of the image as %s, everything except the part to be expected: are black and white exchanged?", 100*a.share, class)
	case a.others == 1 && a.dice < hardly:
		warn(&f.findings, KindMask, path, "Dice %.2f with the only other rater; its area is %.2f times theirs", a.dice, a.ratio)
	case a.dice < a.rest-far:
		warn(&f.findings, KindMask, path, "mean Dice %.2f with the other raters, who have %.2f among themselves; its area is %.2f times theirs", a.dice, a.rest, a.ratio)
	}
}

// inverted reports whether a mask of more than half of the image has probably been exchanged with
// its background. This is so if the exchanged mask has a much higher Dice with the others. It is
// also so if the mask marks the image's border, unless the exchanged mask's Dice is low as well.
func inverted(l *Loaded, m, k int, a mark) bool {
	const (
		gain   = 0.25 // of Dice
		border = 0.9  // share of the border that is marked
	)
	if a.share <= 0.5 {
		return false
	}
	own := l.Masks[m][k]
	if a.others > 0 {
		turned := make([]uint8, len(own))
		for i, v := range own {
			turned[i] = 1 - v
		}
		var dice []float64
		for b := range l.Masks {
			if other := l.Masks[b][k]; b != m && other != nil {
				dice = append(dice, metric.Dice(turned, other))
			}
		}
		if metric.Mean(dice) > a.dice+gain {
			return true
		}
		if a.dice < 0.5 {
			return false
		}
	}
	marked, all := 0, 0 // pixels of the image's border
	for i, w, h := 0, l.Image.W, l.Image.H; i < len(own); i++ {
		if x, y := i%w, i/w; x == 0 || y == 0 || x == w-1 || y == h-1 {
			all++
			marked += int(own[i])
		}
	}
	return float64(marked)/float64(all) > border
}

// levels warns of an agreement level that is not within the one below.
func (f *caseFigures) levels(d *Dataset, l *Loaded, k int) {
	if first := f.marks[k][0]; first.given && first.area == 0 {
		warn(&f.findings, KindEmpty, cmp.Or(l.Case.Masks[0][k], l.Case.Image), "is empty: not one expert marked the %s", d.Classes[k])
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
			warn(&f.findings, KindNesting, l.Case.Masks[m][k], "%d of its %d pixels are not in %s, the level below", outside, f.marks[k][m].area, d.Raters[m-1])
		}
	}
}
