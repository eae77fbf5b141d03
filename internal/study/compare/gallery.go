package compare

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"

	"mrprism/internal/study/picture"
	"mrprism/internal/study/report"
	"mrprism/internal/study/statistics"
)

// galleryImages is the number of images in each gallery.
const galleryImages = 3

// galleries are the images that the report shows.
type galleries struct{ lowest, highest, gains, losses gallery }

// gallery keeps the images of the largest ranks. Its memory does not grow with the number of
// images.
type gallery struct{ exhibits []*exhibit }

// exhibit is an image with the outlines of every method.
type exhibit struct {
	report.Exhibit
	rank float64
}

// offer offers an image that all methods have.
func (g *galleries) offer(c *Comparer, r *caseRecord) {
	dice := statistics.Tabulate(len(r.methods), func(i int) float64 { d, _ := meanOver(r.methods[i]); return d })
	mean := 0.
	for _, d := range dice {
		mean += d / float64(len(dice))
	}
	if math.IsNaN(mean) {
		return
	}
	var drawn *exhibit // once for all galleries
	show := func(to *gallery, rank float64) {
		if !to.wants(rank) {
			return
		}
		if drawn == nil {
			drawn = c.exhibit(r, dice)
		}
		if drawn != nil {
			to.add(&exhibit{drawn.Exhibit, rank})
		}
	}
	show(&g.lowest, -mean)
	show(&g.highest, mean)
	if len(dice) < 2 {
		return
	}
	rival := slices.Max(dice[1:])
	if gain := dice[0] - rival; gain > 0 {
		show(&g.gains, gain)
	} else if gain < 0 {
		show(&g.losses, -gain)
	}
}

// wants reports whether an image of the rank would be kept.
func (g *gallery) wants(rank float64) bool {
	return len(g.exhibits) < galleryImages || rank > g.exhibits[galleryImages-1].rank
}

func (g *gallery) add(e *exhibit) {
	g.exhibits = append(g.exhibits, e)
	slices.SortStableFunc(g.exhibits, func(a, b *exhibit) int { return cmp.Compare(b.rank, a.rank) })
	g.exhibits = g.exhibits[:min(galleryImages, len(g.exhibits))]
}

// exhibit draws an image; nil if it cannot be read, which the troubles tell then.
func (c *Comparer) exhibit(r *caseRecord, dice []float64) *exhibit {
	img, err := r.image()
	if err != nil {
		c.troubles = append(c.troubles, trouble{Kind: ofTheData, Text: err.Error()})
		return nil
	}
	plain := picture.NewPicture(img)
	out := &exhibit{Exhibit: report.Exhibit{Name: r.Name}}
	for i, m := range c.methods {
		p := plain.Copy()
		for k, one := range r.methods[i] {
			if one != nil {
				p.Result(k, one.outline)
			}
		}
		for _, t := range r.classes {
			if t != nil {
				p.Truth(t.outline)
			}
		}
		size, url := p.Rect.Size(), template.URL("")
		if url, err = picture.Embedded(p.RGBA); err != nil {
			c.troubles = append(c.troubles, trouble{Kind: ofTheData, Text: fmt.Sprintf("%s: %v", r.Image, err)})
			return nil
		}
		out.Shots = append(out.Shots, report.Shot{Name: m.Name, Figure: fmt.Sprintf("%.1f", 100*dice[i]), Picture: url, Width: size.X, Height: size.Y})
	}
	return out
}
