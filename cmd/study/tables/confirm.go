//go:build !js

package main

import (
	"math"
	"strings"

	"mrprism/cmd/study/internal/metrics"
)

// confirmed are the rows of the confirmation that have scores, each beside the mean vote, and the
// judgements of PLAN.md: on drawn panels the recurrent recipe beside the mean vote with the same Dice
// loss, mean of disc and cup, and on the crowd that loss. These five are one family.
func (r *runner) confirmed() (all []row, err error) {
	t := confirmation()
	var judged []int // in all
	for _, d := range t.sets {
		scores, classes, err := r.read(d)
		if err != nil {
			return nil, err
		}
		for _, class := range classes {
			all = append(all, compared(t, d, class, scores)...)
		}
		switch own := (key{"", recurrent.name, primary.name}); {
		case d.drawn != "":
			both := scores.together(classes)
			if own.class = strings.Join(classes, " and "); both[own] == nil {
				continue
			}
			base := key{own.class, sharp.name, primary.name}
			x := row{entry: recurrent, data: d, class: own.class, scores: both, to: sharp, delta: metrics.OverRuns(both.differences(own, base)), look: both.firstLook(own, base), holm: math.NaN()}
			all, judged = append(all, x), append(judged, len(all))
		case d.judges != "":
			for i, x := range all {
				if x.data.name == d.name && x.name == sharp.name {
					judged = append(judged, i)
				}
			}
		}
	}
	var p []float64
	for _, i := range judged {
		p = append(p, all[i].delta.P)
	}
	if len(p) == judgements {
		for i, adjusted := range metrics.Holm(p) {
			all[judged[i]].holm = adjusted
		}
	}
	return all, nil
}

// judgements is how many PLAN.md names.
const judgements = 5

// together has the mean of all classes by image, under their names joined.
func (all results) together(classes []string) results {
	both := results{}
	for k, seeds := range all {
		joined := key{strings.Join(classes, " and "), k.method, k.figure}
		if k.class != classes[0] || both[joined] != nil {
			continue
		}
		both[joined] = map[int]score{}
		for seed, s := range seeds {
			mean := score{class: joined.class, method: s.method, figure: s.figure, seed: seed, kept: s.kept, of: map[string]float64{}}
			for image := range s.of {
				sum, n := 0., 0
				for _, class := range classes {
					if v, there := all[key{class, k.method, k.figure}][seed].of[image]; there {
						sum, n = sum+v, n+1
					}
				}
				if n == len(classes) {
					mean.of[image] = sum / float64(n)
				}
			}
			both[joined][seed] = mean
		}
	}
	return both
}
