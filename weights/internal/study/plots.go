//go:build !js

package main

import (
	"math"
	"path/filepath"

	"mrprism/internal/format/chart"
)

// set is a data set of the study.
type set struct {
	name, about string
	structures  []string
}

var (
	eye       = []string{"disc", "cup"}
	scenarios = []set{
		{"unbiased", "six equally careful raters", eye},
		{"random-errors", "six who leave out, stray, swap", eye},
		{"one-expert", "one right, five mark too much", eye},
		{"sectoral", "four, each careful in one quadrant", eye},
	}
	controls = []set{
		{"permuted", "one-expert, names shuffled", eye},
		{"no-image", "one-expert, images show nothing", eye},
	}
	measured = []set{
		{"newborn-brain", "seven raters, truth unknown", []string{"brain"}},
		{"cells", "five raters, truth unknown", []string{"cell"}},
	}
	seeds = []string{"seed 1", "seed 2", "seed 3"}
)

const (
	way   = "way of the mask to the rater's area"
	dice  = "Dice with the truth"
	votes = "soft Dice with the mean vote"
)

// groups are the data sets with a row a structure, of the effects that find gives.
func groups(sets []set, find func(data, structure string) []chart.Effect) (out []chart.Group) {
	for _, s := range sets {
		g := chart.Group{Name: s.name + " — " + s.about}
		for _, structure := range s.structures {
			g.Rows = append(g.Rows, chart.Row{Name: structure, Effects: find(s.name, structure)})
		}
		out = append(out, g)
	}
	return out
}

// plots are all forest plots by the names of their files.
func plots(folder string) (map[string]chart.Forest, error) {
	tables := map[string]table{}
	for _, name := range []string{"follow", "passes", "calibration", "mask-first", "marks", "variants"} {
		t, err := read(filepath.Join(folder, name+".csv"))
		if err != nil {
			return nil, err
		}
		tables[name] = t
	}
	return map[string]chart.Forest{
		"follow.svg":      follow(tables["follow"]),
		"changes.svg":     changes(tables["follow"]),
		"passes.svg":      passes(tables["passes"]),
		"baseline.svg":    baseline(tables["passes"]),
		"calibration.svg": calibration(tables["calibration"]),
		"mask-first.svg":  maskFirst(tables["mask-first"]),
		"marks.svg":       marks(tables["marks"]),
		"variants.svg":    variants(tables["variants"]),
	}, nil
}

func follow(t table) chart.Forest {
	find := func(recipe, pass string) func(data, structure string) []chart.Effect {
		return func(data, structure string) []chart.Effect {
			return t.where("metric", way, "recipe", recipe, "pass", pass, "side", "128", "data", data, "structure", structure).effects()
		}
	}
	f := chart.Forest{
		Title:    "Does the mask follow a rater with all the weight?",
		Subtitle: "Recipe default after the third pass, 600 steps at 128². One marker a trained network.",
		Axis:     "way that the mask's area goes to the rater's own area, % (0: it stays, 100: it arrives)",
		Below:    "away from the rater", Above: "towards the rater", Shaded: true, Numbers: "mean", Series: seeds,
	}
	f.Groups = groups([]set{scenarios[2], controls[1], measured[0], measured[1], scenarios[0], scenarios[1], scenarios[3], controls[0]}, find("default", "Rec2"))
	only := func(about string) []set { return []set{{"one-expert", about, eye}} }
	f.Groups = append(f.Groups, groups(only("same networks, first pass alone"), find("default", "Rec0"))...)
	f.Groups = append(f.Groups, groups(only("recipe one-pass, no DivP"), find("one-pass", "Rec0"))...)
	return f
}

func changes(t table) chart.Forest {
	f := chart.Forest{
		Title:    "What the mask needs to follow the expert",
		Subtitle: "one-expert at 64², seed 1: Dice with the expert when he has all the weight, less Dice when all weigh the same. Lines: 95 % intervals over 12 held-out images; none was kept for the first two.",
		Axis:     "gain of Dice with the expert, ×100",
		Below:    "farther from the expert", Above: "closer to the expert", Shaded: true, Numbers: "gain", Digits: 1,
	}
	for _, w := range []struct{ name, recipe, steps string }{
		{"neither change", "unsteered", "480"},
		{"a way for weights into the mask", "unsteered, -config compact-steered", "480"},
		{"that way, and weights in training — recipe default", "default", "480"},
		{"recipe default, 1,200 steps", "default", "1200"},
	} {
		g := chart.Group{Name: w.name}
		for _, s := range eye {
			all := t.where("metric", "Dice with the expert", "recipe", w.recipe, "steps", w.steps, "side", "64", "structure", s)
			e := all.where("comparison", "expert alone - equal weights").effects()
			if e == nil {
				gain := figure(all.where("weight", "expert")[0], "estimate") - figure(all.where("weight", "equal")[0], "estimate")
				e = []chart.Effect{{Estimate: gain, Low: math.NaN(), High: math.NaN()}}
			}
			g.Rows = append(g.Rows, chart.Row{Name: s, Effects: e})
		}
		f.Groups = append(f.Groups, g)
	}
	return f
}

func passes(t table) chart.Forest {
	return differences(t, "Rec2 - Rec0", chart.Forest{
		Title: "Is the third pass closer than the first?",
		Axis:  "Dice with the truth, ×100, third pass less first (newborn-brain and cells: soft Dice with the mean vote)",
	})
}

func baseline(t table) chart.Forest {
	return differences(t, "Rec2 - baseline", chart.Forest{
		Title: "Is it closer than the plain network?",
		Axis:  "Dice with the truth, ×100, third pass less baseline (newborn-brain and cells: soft Dice with the mean vote)",
	})
}

// differences draws every run at 128² and the means over the scenarios and over the real data.
func differences(t table, comparison string, f chart.Forest) chart.Forest {
	f.Subtitle = "Recipe default at 128². Lines: 95 % intervals over the held-out images of one network; hollow: it covers 0. Diamonds: means, 95 % over seeds."
	f.Below, f.Above, f.Shaded, f.Numbers, f.Digits, f.Series = "farther from the truth", "closer to the truth", true, "effect", 2, seeds
	find := func(data, structure string) (out []chart.Effect) {
		for _, metric := range []string{dice, votes} {
			for _, steps := range []string{"600", "525", "612"} {
				out = append(out, t.where("comparison", comparison, "metric", metric, "recipe", "default", "side", "128", "steps", steps, "data", data, "structure", structure).effects()...)
			}
		}
		return out
	}
	for _, sets := range [][]set{scenarios, controls, measured} {
		f.Groups = append(f.Groups, groups(sets, find)...)
	}
	means := chart.Group{Name: "means — over the first four; over the last two"}
	for _, structure := range eye {
		var all [][]chart.Effect
		for _, s := range scenarios {
			all = append(all, find(s.name, structure))
		}
		means.Rows = append(means.Rows, chart.Row{Name: structure, Effects: []chart.Effect{mean(all...)}})
	}
	last := mean(find("newborn-brain", "brain"), find("cells", "cell"))
	means.Rows = append(means.Rows, chart.Row{Name: "real data", Effects: []chart.Effect{last}})
	f.Groups = append(f.Groups, means)
	return f
}

func calibration(t table) chart.Forest {
	f := chart.Forest{
		Title:    "Which loss makes calibrated probabilities?",
		Subtitle: "Networks at 128², three seeds each: plain cross-entropy, baseline, and default after the third pass.",
		Axis:     "expected calibration error against the shares of votes, inside the union of marks, ×100",
		Below:    "better calibrated", Above: "worse calibrated", Series: []string{"cross-entropy", "baseline", "default"},
	}
	f.Groups = groups(append(append([]set{}, scenarios...), measured...), func(data, structure string) (out []chart.Effect) {
		for i, recipe := range []string{"bce", "baseline", "default"} {
			for _, e := range t.where("metric", "expected calibration error", "recipe", recipe, "data", data, "structure", structure).effects() {
				e.Series = i
				out = append(out, e)
			}
		}
		return out
	})
	return f
}

func maskFirst(t table) chart.Forest {
	f := chart.Forest{
		Title:    "Does it help to learn the mask first?",
		Subtitle: "random-errors at 128²: third pass less the baseline of as many steps. Lines: 95 % intervals over 20 held-out images; hollow: it covers 0. Diamonds: means of the three.",
		Axis:     "Dice with the truth, ×100, third pass less baseline",
		Below:    "farther from the truth", Above: "closer to the truth", Shaded: true, Numbers: "effect", Digits: 2, Series: seeds,
	}
	for _, r := range []struct{ name, recipe, steps string }{
		{"600 steps of default", "default", "600"},
		{"300 of baseline, then 300 of default", "300 steps of baseline, then 300 of default", "600"},
		{"600 of baseline, then 300 of default", "600 steps of baseline, then 300 of default", "900"},
	} {
		g := chart.Group{Name: r.name}
		for _, s := range eye {
			e := t.where("comparison", "Rec2 - baseline", "metric", dice, "recipe", r.recipe, "steps", r.steps, "data", "random-errors", "structure", s).effects()
			last := &e[len(e)-1] // the mean of the three, without an interval
			last.Summary, last.Open = true, true
			g.Rows = append(g.Rows, chart.Row{Name: s, Effects: e})
		}
		f.Groups = append(f.Groups, g)
	}
	return f
}

func marks(t table) chart.Forest {
	f := chart.Forest{
		Title:    "Does a mark's weight tell how good it is?",
		Subtitle: "Recipe default after the third pass, at 128². Hollow: the 95 % interval over held-out images covers 0.",
		Axis:     "rank correlation, in an image, of a mark's weight and its Dice with the truth (newborn-brain and cells: with the majority of the others)",
		Below:    "heavier marks are worse", Above: "heavier marks are better", Shaded: true, Numbers: "mean", Digits: 2, Series: seeds,
	}
	order := []set{scenarios[1], scenarios[3], scenarios[0], scenarios[2], controls[1], controls[0], measured[0], measured[1]}
	f.Groups = groups(order, func(data, structure string) (out []chart.Effect) {
		for _, with := range []string{"truth", "majority of the others"} {
			out = append(out, t.where("metric", "rank correlation of a mark's weight and its Dice with the "+with, "side", "128", "data", data, "structure", structure).effects()...)
		}
		return out
	})
	return f
}

func variants(t table) chart.Forest {
	f := chart.Forest{
		Title:    "Do other rules, losses or networks help passes?",
		Subtitle: "random-errors at 64², 480 steps, one thing changed at a time: third pass less first. Lines: 95 % intervals over 12 held-out images; hollow: it covers 0.",
		Axis:     "Dice with the truth, ×100, third pass less first",
		Below:    "farther from the truth", Above: "closer to the truth", Shaded: true, Numbers: "effect", Digits: 2, Series: eye,
	}
	for _, v := range []struct{ name, recipe, seed string }{
		{"default", "default", "1"},
		{"default, another draw of the same seed", "default", "1, another draw"},
		{"rule of the released code", "default: rule code (the released code's)", "1"},
		{"rule by agreement", "default: rule agreement", "1"},
		{"three passes in training", "default: three passes in training", "1"},
		{"without the heads' own loss", "default: without L_MH, the heads' own loss", "1"},
		{"shuffled fusion of random draws alone", "default: L_sff of random draws U(.1, .9) alone", "1"},
		{"shuffled fusion of thresholded estimates", "default: T(0.5) of the estimates in L_sff", "1"},
		{"cross-entropy fades to 0, not to ½", "default: the cross-entropy fades to 0, not to 1/2", "1"},
		{"gradients through DivP and confidences", "default: gradients pass from DivP into the mask, and back through the confidences", "1"},
		{"DivP is given the image too", "default: DivP is given the image too", "1"},
		{"DivP at twice the resolution, seed 1", doubled, "1"},
		{"DivP at twice the resolution, seed 2", doubled, "2"},
		{"DivP at twice the resolution, seed 3", doubled, "3"},
	} {
		g := chart.Group{Name: v.name}
		for i, s := range eye {
			e := t.where("comparison", "Rec2 - Rec0", "metric", dice, "side", "64", "data", "random-errors", "recipe", v.recipe, "seed", v.seed, "structure", s).effects()
			for j := range e {
				e[j].Series = i
			}
			g.Rows = append(g.Rows, chart.Row{Name: s, Effects: e})
		}
		f.Groups = append(f.Groups, g)
	}
	return f
}

const doubled = "default: DivP at twice the resolution (64^2 of 256^2)"
