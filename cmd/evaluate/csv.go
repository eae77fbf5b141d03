package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"mrprism/internal/metric"
)

// csv writes a line an image and structure, as statistics programs read them: shares 0..1, empty where something is not defined.
func (r *report) csv(w io.Writer) error {
	out := csv.NewWriter(w)
	header := []string{"folder", "image", "found", "class"}
	for i := range r.Recurrences + 1 {
		header = append(header, fmt.Sprintf("soft_dice_rec%d", i))
	}
	for i := range r.Recurrences + 1 {
		header = append(header, fmt.Sprintf("dice_truth_rec%d", i), fmt.Sprintf("brier_truth_rec%d", i))
	}
	header = append(header, "soft_dice_against", "hausdorff95_pixels", "fleiss_kappa", "energy_distance", "dice_max", "dice_match", "own_dice")
	if err := out.Write(header); err != nil {
		return err
	}
	for _, c := range r.Cases {
		for k, class := range c.Classes {
			if class == nil {
				continue
			}
			if err := out.Write(append([]string{c.Folder, c.Name, strconv.FormatBool(c.Found), r.Classes[k].Class}, class.cells(r.Recurrences)...)); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}

// cells are the figures of one structure in one image, in the header's order.
func (c *classScore) cells(recurrences int) (cells []string) {
	cell := func(v *float64) {
		text := ""
		if v != nil {
			text = strconv.FormatFloat(*v, 'g', 6, 64)
		}
		cells = append(cells, text)
	}
	for i := range recurrences + 1 {
		cell(&c.SoftDice[i])
	}
	for i := range recurrences + 1 {
		if c.Truth == nil {
			cell(nil)
			cell(nil)
			continue
		}
		cell(&c.Truth[i].Dice)
		cell(&c.Truth[i].Brier)
	}
	cell(c.Against)
	cell(c.Agreement.Hausdorff)
	cell(c.Agreement.Kappa)
	if c.Set != nil {
		cell(&c.Set.Energy)
		cell(&c.Set.Max)
		cell(c.Set.Match)
	} else {
		cells = append(cells, "", "", "")
	}
	own, _ := parts(c.Heads)
	cell(defined(metric.Mean(own)))
	return cells
}
