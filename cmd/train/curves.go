//go:build !js

package main

import (
	"fmt"
	"os"
	"path/filepath"

	"mrprism/internal/output/chart"
	"mrprism/weights"
)

// point adds a point to a line.
func point(l *chart.Line, x, y float64) { l.X, l.Y = append(l.X, x), append(l.Y, y) }

// drawCurves draws the log of the run in the folder.
func drawCurves(folder, title string) error {
	log, err := os.Open(filepath.Join(folder, logName))
	if err != nil {
		return err
	}
	defer log.Close()
	loss, rate, dice := chart.Line{Name: "loss", Band: true}, chart.Line{Name: "rate"}, chart.Line{Name: "soft Dice", Dots: true}
	norm := chart.Line{Name: "norm", Band: true}
	terms := []chart.Line{{Name: "mask"}, {Name: "fusion"}, {Name: "shuffle"}, {Name: "heads"}, {Name: "fade"}, {Name: "dice"}}
	var last logLine
	images, seconds := 0, 0.0
	_, err = readLog(log, func(l logLine) bool {
		x := float64(l.Step)
		point(&loss, x, l.Loss)
		point(&rate, x, l.Rate)
		for i := range terms {
			if v, there := l.Terms[terms[i].Name]; there {
				point(&terms[i], x, v)
			}
		}
		if l.Norm > 0 {
			point(&norm, x, l.Norm)
		}
		if l.SoftDice != nil {
			point(&dice, x, *l.SoftDice)
		}
		images, seconds, last = images+l.Images, seconds+l.Seconds, l
		return true
	})
	if err != nil {
		return err
	}
	c := chart.Chart{Title: title, X: "step", Panels: []chart.Panel{
		{Title: "Loss: mean, smallest and largest", Zero: true, Lines: []chart.Line{loss}},
		{Title: "Its terms, weighted and summed over the recurrences", Zero: true, Lines: terms},
		{Title: "Learning rate", Zero: true, Lines: []chart.Line{rate}},
	}}
	c.Subtitle = fmt.Sprintf("%d steps, %d epochs; %.1f images/s", last.Step, last.Epoch, float64(images)/max(seconds, 1e-9))
	if len(norm.X) > 0 {
		c.Panels = append(c.Panels, chart.Panel{Title: "Norm of the gradient before it is clipped", Zero: true, Lines: []chart.Line{norm}})
	}
	if len(dice.X) > 0 {
		c.Panels = append(c.Panels, chart.Panel{Title: "Soft Dice of the averaged weights on the images set aside", Lines: []chart.Line{dice}})
	}
	return weights.WriteAtomic(filepath.Join(folder, curvesName), c.Write)
}
