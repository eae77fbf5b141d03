//go:build !js

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/cmd/study/internal/graphs"
)

const tables = "../../../../weights/shipped/study"

// The committed tables give the committed plots, and the page shows each plot.
func TestPlotsAreOfTheTables(t *testing.T) {
	drawn, err := plots(tables)
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(tables, "*.svg"))
	require.NoError(t, err)
	assert.Len(t, drawn, len(files))
	page, err := os.ReadFile("../../../../weights/shipped/STUDY.md")
	require.NoError(t, err)
	for name, plot := range drawn {
		var out bytes.Buffer
		require.NoError(t, plot.Write(&out))
		committed, err := os.ReadFile(filepath.Join(tables, name))
		require.NoError(t, err)
		assert.True(t, bytes.Equal(committed, out.Bytes()), "%s differs from its table: go generate ./weights", name)
		assert.Contains(t, string(page), "(study/"+name+")")
		for _, g := range plot.Groups {
			for _, r := range g.Rows {
				assert.NotEmpty(t, r.Effects, "%s: %s, %s", name, g.Name, r.Name)
			}
		}
	}
}

// Every table has the same columns, no row twice, and intervals around their estimates that say
// themselves whether they exclude 0.
func TestTablesAreTidy(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(tables, "*.csv"))
	require.NoError(t, err)
	var header string
	for _, file := range files {
		if filepath.Base(file) == "runs.csv" {
			continue
		}
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		first, _, _ := strings.Cut(string(content), "\n")
		if header == "" {
			header = first
		}
		assert.Equal(t, header, first, file)
		rows, err := read(file)
		require.NoError(t, err)
		seen := map[string]bool{}
		for i, row := range rows {
			assert.Regexp(t, `^\d{4}-\d\d-\d\d$`, row["date"], "%s, line %d", file, i+2)
			var key strings.Builder
			for column := range strings.SplitSeq("comparison,data,structure,recipe,seed,side,steps,pass,weight,head,rater,metric", ",") {
				key.WriteString(row[column] + "\x00")
			}
			assert.False(t, seen[key.String()], "%s, line %d: measured twice", file, i+2)
			seen[key.String()] = true
			if row["low"] == "" {
				continue
			}
			low, estimate, high := figure(row, "low"), figure(row, "estimate"), figure(row, "high")
			assert.True(t, low <= estimate && estimate <= high, "%s, line %d", file, i+2)
			if row["clear"] != "" { // a limit of -0.00 lies below 0
				excludes := low > 0 || strings.HasPrefix(row["high"], "-")
				assert.Equal(t, excludes, row["clear"] == "yes", "%s, line %d", file, i+2)
			}
		}
	}
	assert.NotEmpty(t, header)
}

// Two sets of three: their means are 2 and 5, the variance within is 1, of 4 degrees of freedom.
func TestMean(t *testing.T) {
	set := func(values ...float64) (out []graphs.Effect) {
		for _, v := range values {
			out = append(out, graphs.Effect{Estimate: v})
		}
		return out
	}
	m := mean(set(1, 2, 3), set(4, 5, 6))
	assert.InDelta(t, 3.5, m.Estimate, 1e-9)
	assert.InDelta(t, 2.776/2.449489743, m.High-m.Estimate, 1e-6, "t times the root of 1/6")
	assert.InDelta(t, m.Estimate-m.Low, m.High-m.Estimate, 1e-9)
	assert.False(t, m.Open)
	assert.True(t, mean(set(-1, 0, 1), set(-1, 0, 1)).Open)
}

func TestReadRefusesWhatIsNoNumber(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	for content, message := range map[string]string{
		"estimate,low,high\n1,,\n2,x,3\n": "line 3: low",
		"estimate,low,high\n,,\n":         "line 2: estimate",
	} {
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
		_, err := read(path)
		assert.ErrorContains(t, err, message)
	}
}

// An interval in a card is one of the table beside the cards.
func TestCardsQuoteTheTable(t *testing.T) {
	all, err := read("../../../../weights/shipped/figures.csv")
	require.NoError(t, err)
	interval := regexp.MustCompile(`([+−]?[\d.]+) \[([+−]?[\d.]+), ([+−]?[\d.]+)\]`)
	plain := strings.NewReplacer("−", "-", "+", "")
	for _, model := range []string{"fundus", "newborn-brain", "cells"} {
		measured := map[string]bool{}
		for _, row := range all.where("model", model) {
			assert.Regexp(t, `^\d{4}-\d\d-\d\d$`, row["date"])
			measured[row["estimate"]+" ["+row["low"]+", "+row["high"]+"]"] = true
		}
		card, err := os.ReadFile("../../../../weights/shipped/" + model + ".md")
		require.NoError(t, err)
		quoted := interval.FindAllString(string(card), -1)
		assert.Greater(t, len(quoted), 5, model)
		for _, q := range quoted {
			assert.True(t, measured[plain.Replace(q)], "%s: %s", model, q)
		}
	}
}
