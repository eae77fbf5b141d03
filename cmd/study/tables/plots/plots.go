//go:build !js

package main

import (
	"math"
	"path/filepath"
	"slices"

	"mrprism/cmd/study/internal/graphs"
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

// group has a row for each structure, of the effects that find gives.
func group(name string, structures []string, find func(structure string) []graphs.Effect) graphs.Group {
	g := graphs.Group{Name: name}
	for _, s := range structures {
		g.Rows = append(g.Rows, graphs.Row{Name: s, Effects: find(s)})
	}
	return g
}

// bySet has a group for each data set.
func bySet(sets []set, find func(data, structure string) []graphs.Effect) (out []graphs.Group) {
	for _, s := range sets {
		out = append(out, group(s.name+" — "+s.about, s.structures, func(structure string) []graphs.Effect { return find(s.name, structure) }))
	}
	return out
}

// drawings are all forest plots by the names of their files, each with the table that it shows.
var drawings = map[string]struct {
	table string
	draw  func(table) graphs.Forest
}{
	"follow.svg":      {"follow", follow},
	"changes.svg":     {"follow", changes},
	"passes.svg":      {"passes", differences("Is the third pass closer than the first?", "Rec2 - Rec0", "first")},
	"baseline.svg":    {"passes", differences("Is it closer than the plain network?", "Rec2 - baseline", "baseline")},
	"calibration.svg": {"calibration", calibration},
	"mask-first.svg":  {"mask-first", maskFirst},
	"marks.svg":       {"marks", marks},
	"variants.svg":    {"variants", variants},
	"evidence.svg":    {"evidence", evidence},
	"others.svg":      {"evidence", others},
}

// plots draws all forest plots from the tables of a folder.
func plots(folder string) (map[string]graphs.Forest, error) {
	drawn := map[string]graphs.Forest{}
	for name, d := range drawings {
		t, err := read(filepath.Join(folder, d.table+".csv"))
		if err != nil {
			return nil, err
		}
		drawn[name] = d.draw(t)
	}
	return drawn, nil
}

// toTruth are the words of a plot of differences of Dice.
func toTruth(title, subtitle, axis string, series []string) graphs.Forest {
	return graphs.Forest{
		Title: title, Subtitle: subtitle, Axis: axis, Series: series,
		Below: "farther from the truth", Above: "closer to the truth", Shaded: true, Numbers: "effect", Digits: 2,
	}
}

func follow(t table) graphs.Forest {
	find := func(recipe, pass string) func(data, structure string) []graphs.Effect {
		return func(data, structure string) []graphs.Effect {
			return t.where("metric", way, "recipe", recipe, "pass", pass, "side", "128", "data", data, "structure", structure).effects()
		}
	}
	f := graphs.Forest{
		Title:    "Does the mask follow a rater with all the weight?",
		Subtitle: "Recipe default after the third pass, 600 steps at 128². One marker a trained network.",
		Axis:     "way that the mask's area goes to the rater's own area, % (0: it stays, 100: it arrives)",
		Below:    "away from the rater", Above: "towards the rater", Shaded: true, Numbers: "mean", Series: seeds,
	}
	only := func(about string) []set { return []set{{"one-expert", about, eye}} }
	order := []set{scenarios[2], controls[1], measured[0], measured[1], scenarios[0], scenarios[1], scenarios[3], controls[0]}
	f.Groups = slices.Concat(bySet(order, find("default", "Rec2")),
		bySet(only("same networks, first pass alone"), find("default", "Rec0")), bySet(only("recipe one-pass, no DivP"), find("one-pass", "Rec0")))
	return f
}

func changes(t table) graphs.Forest {
	f := graphs.Forest{
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
		f.Groups = append(f.Groups, group(w.name, eye, func(structure string) []graphs.Effect {
			all := t.where("metric", "Dice with the expert", "recipe", w.recipe, "steps", w.steps, "side", "64", "structure", structure)
			if e := all.where("comparison", "expert alone - equal weights").effects(); e != nil {
				return e
			}
			gain := figure(all.where("weight", "expert")[0], "estimate") - figure(all.where("weight", "equal")[0], "estimate")
			return []graphs.Effect{{Estimate: gain, Low: math.NaN(), High: math.NaN()}}
		}))
	}
	return f
}

// differences draws every run at 128² and the means over the scenarios and over the real data.
func differences(title, comparison, less string) func(table) graphs.Forest {
	return func(t table) graphs.Forest {
		f := toTruth(title, "Recipe default at 128². Lines: 95 % intervals over the held-out images of one network; hollow: it covers 0. Diamonds: means, 95 % over seeds.",
			"Dice with the truth, ×100, third pass less "+less+" (newborn-brain and cells: soft Dice with the mean vote)", seeds)
		find := func(data, structure string) (out []graphs.Effect) {
			all := t.where("comparison", comparison, "recipe", "default", "side", "128", "data", data, "structure", structure)
			for _, metric := range []string{dice, votes} {
				for _, steps := range []string{"600", "525", "612"} {
					out = append(out, all.where("metric", metric, "steps", steps).effects()...)
				}
			}
			return out
		}
		means := group("means — over the first four; over the last two", eye, func(structure string) []graphs.Effect {
			var all [][]graphs.Effect
			for _, s := range scenarios {
				all = append(all, find(s.name, structure))
			}
			return []graphs.Effect{mean(all...)}
		})
		last := mean(find("newborn-brain", "brain"), find("cells", "cell"))
		means.Rows = append(means.Rows, graphs.Row{Name: "real data", Effects: []graphs.Effect{last}})
		f.Groups = append(bySet(slices.Concat(scenarios, controls, measured), find), means)
		return f
	}
}

// given lists the data whose marks are given, with the number of marks.
var given = []struct{ data, structure, marks string }{
	{"newborn-brain", "brain", "1 mark given"}, {"newborn-brain", "brain", "2 marks given"}, {"cells", "cell", "1 mark given"}, {"cells", "cell", "2 marks given"},
	{"fundus crops", "disc", "1 mark given"}, {"fundus crops", "disc", "2 marks given"}, {"fundus crops", "cup", "1 mark given"}, {"fundus crops", "cup", "2 marks given"},
}

// gains has a group for each data set and number of marks, and a row for each of what ours is compared
// with.
func gains(t table, figure string, rows ...[2]string) (groups []graphs.Group) {
	for _, g := range given {
		group := graphs.Group{Name: g.data + ", " + g.structure + " — " + g.marks}
		for _, r := range rows {
			if e := t.where("data", g.data, "structure", g.structure, "weight", g.marks, "metric", figure, "comparison", "settled - "+r[1]).effects(); e != nil {
				group.Rows = append(group.Rows, graphs.Row{Name: r[0], Effects: e})
			}
		}
		if group.Rows != nil {
			groups = append(groups, group)
		}
	}
	return groups
}

func evidence(t table) graphs.Forest {
	return graphs.Forest{
		Title:    "What do the raters think who have not marked?",
		Subtitle: "Soft Dice with their mean vote: settled around the given marks, less another answer. One line a trained network, 95 % over held-out images; hollow: it covers 0.",
		Axis:     "gain of soft Dice, ×100",
		Below:    "the other answer is closer", Above: "settled is closer", Shaded: true, Numbers: "gain", Digits: 2, Series: seeds,
		Groups: gains(t, "soft Dice with the raters who are not given", [2]string{"network", "network without"}, [2]string{"marks", "the marks"}, [2]string{"blend", "fixed blend"}),
	}
}

func others(t table) graphs.Forest {
	return graphs.Forest{
		Title:    "Do the other raters' outlines follow a mark?",
		Subtitle: "Dice of each head with its own rater, of raters who are not given: with marks less without. 95 % over held-out images; hollow: it covers 0.",
		Axis:     "gain of Dice, ×100",
		Below:    "farther from their own marks", Above: "closer to their own marks", Shaded: true, Numbers: "gain", Digits: 2, Series: seeds,
		Groups: gains(t, "Dice of heads not given with their own marks", [2]string{"heads", "without a mark"}),
	}
}

func calibration(t table) graphs.Forest {
	f := graphs.Forest{
		Title:    "Which loss makes calibrated probabilities?",
		Subtitle: "Networks at 128², three seeds each: plain cross-entropy, baseline, and default after the third pass.",
		Axis:     "expected calibration error against the shares of votes, inside the union of marks, ×100",
		Below:    "better calibrated", Above: "worse calibrated", Series: []string{"cross-entropy", "baseline", "default"},
	}
	f.Groups = bySet(slices.Concat(scenarios, measured), func(data, structure string) (out []graphs.Effect) {
		for i, recipe := range []string{"bce", "baseline", "default"} {
			rows := t.where("metric", "expected calibration error", "recipe", recipe, "data", data, "structure", structure)
			out = append(out, ofSeries(i, rows.effects())...)
		}
		return out
	})
	return f
}

func maskFirst(t table) graphs.Forest {
	f := toTruth("Does it help to learn the mask first?",
		"random-errors at 128²: third pass less the baseline of as many steps. Lines: 95 % intervals over 20 held-out images; hollow: it covers 0. Diamonds: means of the three.",
		"Dice with the truth, ×100, third pass less baseline", seeds)
	for _, r := range []struct{ name, recipe, steps string }{
		{"600 steps of default", "default", "600"},
		{"300 of baseline, then 300 of default", "300 steps of baseline, then 300 of default", "600"},
		{"600 of baseline, then 300 of default", "600 steps of baseline, then 300 of default", "900"},
	} {
		f.Groups = append(f.Groups, group(r.name, eye, func(structure string) []graphs.Effect {
			e := t.where("comparison", "Rec2 - baseline", "metric", dice, "recipe", r.recipe, "steps", r.steps, "data", "random-errors", "structure", structure).effects()
			last := &e[len(e)-1] // the mean of the three, without an interval
			last.Summary, last.Open = true, true
			return e
		}))
	}
	return f
}

func marks(t table) graphs.Forest {
	f := graphs.Forest{
		Title:    "Does a mark's weight tell how good it is?",
		Subtitle: "Recipe default after the third pass, at 128². Hollow: the 95 % interval over held-out images covers 0.",
		Axis:     "rank correlation, in an image, of a mark's weight and its Dice with the truth (newborn-brain and cells: with the majority of the others)",
		Below:    "heavier marks are worse", Above: "heavier marks are better", Shaded: true, Numbers: "mean", Digits: 2, Series: seeds,
	}
	order := []set{scenarios[1], scenarios[3], scenarios[0], scenarios[2], controls[1], controls[0], measured[0], measured[1]}
	f.Groups = bySet(order, func(data, structure string) (out []graphs.Effect) {
		for _, with := range []string{"truth", "majority of the others"} {
			out = append(out, t.where("metric", "rank correlation of a mark's weight and its Dice with the "+with, "side", "128", "data", data, "structure", structure).effects()...)
		}
		return out
	})
	return f
}

func variants(t table) graphs.Forest {
	f := toTruth("Do other rules, losses or networks help passes?",
		"random-errors at 64², 480 steps, one thing changed at a time: third pass less first. Lines: 95 % intervals over 12 held-out images; hollow: it covers 0.",
		"Dice with the truth, ×100, third pass less first", eye)
	const doubled = "default: DivP at twice the resolution (64^2 of 256^2)"
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
		f.Groups = append(f.Groups, group(v.name, eye, func(structure string) []graphs.Effect {
			rows := t.where("comparison", "Rec2 - Rec0", "metric", dice, "side", "64", "data", "random-errors", "recipe", v.recipe, "seed", v.seed, "structure", structure)
			return ofSeries(slices.Index(eye, structure), rows.effects())
		}))
	}
	return f
}

// ofSeries puts the effects into the series i.
func ofSeries(i int, effects []graphs.Effect) []graphs.Effect {
	for j := range effects {
		effects[j].Series = i
	}
	return effects
}
