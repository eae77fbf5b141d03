package compare

import (
	"fmt"
	"math"
	"slices"

	"mrprism/cmd/study/internal/display"
	"mrprism/internal/data/statistics"
	"mrprism/internal/study/picture"
	"mrprism/internal/study/report"
)

// galleries are the images that the report shows.
type galleries struct{ lowest, highest, gains, losses display.Gallery }

func newGalleries(most int) *galleries {
	return &galleries{display.Gallery{Most: most}, display.Gallery{Most: most}, display.Gallery{Most: most}, display.Gallery{Most: most}}
}

// offer offers an image that the first runs of all methods have. The error is one of its file.
func (g *galleries) offer(c *Comparer, r *Image) error {
	dice := statistics.Tabulate(len(c.groups), func(g int) float64 { d, _ := meanOver(r.Rows[c.groups[g].runs[0]]); return d })
	mean := 0.
	for _, d := range dice {
		mean += d / float64(len(dice))
	}
	if math.IsNaN(mean) {
		return nil
	}
	var drawn *report.Exhibit // once for all galleries
	var failed error
	show := func(to *display.Gallery, rank float64) {
		if failed != nil {
			return
		}
		failed = to.Offer(display.Rank{Figure: rank}, func() (_ report.Exhibit, err error) {
			if drawn == nil {
				drawn, err = c.exhibit(r, dice)
			}
			if err != nil {
				return report.Exhibit{}, err
			}
			return *drawn, nil
		})
	}
	show(&g.lowest, -mean)
	show(&g.highest, mean)
	if len(dice) < 2 {
		return failed
	}
	rival := slices.Max(dice[1:])
	if gain := dice[0] - rival; gain > 0 {
		show(&g.gains, gain)
	} else if gain < 0 {
		show(&g.losses, -gain)
	}
	return failed
}

// exhibit draws an image with the outlines of every method's first run.
func (c *Comparer) exhibit(r *Image, dice []float64) (*report.Exhibit, error) {
	img, err := r.image()
	if err != nil {
		return nil, err
	}
	plain, out := picture.NewPicture(img), &report.Exhibit{Name: r.Name}
	for i, g := range c.groups {
		p := display.Copy(plain)
		for k, row := range r.Rows[g.runs[0]] {
			if row != nil {
				display.Result(p, k, row.outline)
			}
		}
		for _, t := range r.classes {
			if t != nil {
				display.Truth(p, t.outline)
			}
		}
		shot, err := report.NewShot(g.name, fmt.Sprintf("%.1f", 100*dice[i]), p.RGBA)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.Image, err)
		}
		out.Shots = append(out.Shots, shot)
	}
	return out, nil
}
