package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

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
	header = append(header, "soft_dice_against", "hausdorff95_pixels", "fleiss_kappa", "energy_distance", "dice_max", "dice_match", "own_dice", "doubted", "doubt", "doubts")
	if err := out.Write(header); err != nil {
		return err
	}
	for _, c := range r.Cases {
		for k, class := range c.Classes {
			if class == nil {
				continue
			}
			line := append([]string{c.Folder, c.Name, strconv.FormatBool(c.Found), r.Classes[k].Class}, class.cells(r.Recurrences)...)
			if err := out.Write(append(line, c.trust.cells()...)); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}

// cells are the figures of one structure in one image, in the header's order.
func (c *classScore) cells(recurrences int) (cells []string) {
	cell := func(v *float64) { cells = append(cells, figure(v)) }
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

// cells are whether the image is doubted, the score, and the codes of the doubts.
func (t *trust) cells() []string {
	return []string{strconv.FormatBool(t.Doubted), figure(t.Doubt), strings.Join(t.codes(), ";")}
}

// figure writes a number; nothing where there is none.
func figure(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'g', 6, 64)
}
