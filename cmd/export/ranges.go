package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"strings"

	"mrprism/internal/command"
	"mrprism/internal/dataset"
	"mrprism/internal/imageio"
	"mrprism/internal/segment"
	"mrprism/weights"
)

// rangeImages go through the network for the ranges of its layers: more change the largest values little.
var rangeImages = 32

// taken says whether the i-th of all images is one of the most, or fewer, that are spread evenly over them: folders lie one behind the other.
func taken(i, all, most int) bool {
	count := min(most, all)
	return i == 0 || i*count/all > (i-1)*count/all
}

// open opens weights, which from now on say what -mirror, -title and -task do.
func (r *request) open(name string) (*weights.Model, error) {
	m, err := command.Weights(name)
	if err != nil || !(r.given["mirror"] || r.given["title"] || r.given["task"]) {
		return m, err
	}
	if r.given["mirror"] {
		m.Metadata.Mirrored = r.mirror
	}
	if r.given["title"] {
		m.Metadata.Title = r.title
	}
	if r.given["task"] {
		m.Metadata.Task = r.task
	}
	values, err := m.Metadata.Map()
	if err != nil {
		return nil, err
	}
	m.File.Metadata = maps.Clone(m.File.Metadata)
	delete(m.File.Metadata, "mirrored") // what is not so is not named
	maps.Copy(m.File.Metadata, values)
	return m, nil
}

// withRanges writes the weights with the ranges of what layers are given and of the colours of training images, and returns a line about it.
func (r *request) withRanges(ctx context.Context, wish command.Device, stderr io.Writer) (string, error) {
	if err := command.CheckOutputs(r.ranges); err != nil {
		return "", err
	}
	m, err := r.open(r.weights)
	if err != nil {
		return "", err
	}
	data, err := dataset.Open(strings.Split(r.data, ",")...)
	if err != nil {
		return "", err
	}
	if err := fits(m, data); err != nil {
		return "", err
	}
	cases := data.Training()
	progress := command.NewProgress(stderr, len(cases))
	defer progress.Clear()
	device, err := wish.Open(ctx, func(text string) { progress.Clear(); fmt.Fprintf(stderr, "%s: %s\n", program, text) })
	if err != nil {
		return "", err
	}
	defer device.Close()
	meta, at := m.Metadata, 0
	meta.Colours = nil
	meta.Ranges, err = segment.Ranges(ctx, device, m, func() (*imageio.Image, error) {
		for at < len(cases) && ctx.Err() == nil {
			c, measured := cases[at], taken(at, len(cases), rangeImages)
			at++
			progress.Begin()
			progress.Show("%s", c.Name)
			l, err := dataset.Load(c)
			if err != nil {
				return nil, err
			}
			meta.Colours = segment.Widened(meta.Colours, l.Image)
			if measured {
				return l.Image, nil
			}
		}
		return nil, ctx.Err()
	})
	if err != nil {
		return "", err
	}
	values, err := meta.Map()
	if err != nil {
		return "", err
	}
	file := &weights.File{Tensors: m.Tensors, Metadata: maps.Clone(m.File.Metadata)}
	maps.Copy(file.Metadata, values)
	file.Seal()
	encoded, err := file.Encode()
	if err != nil {
		return "", err
	}
	err = weights.WriteAtomic(r.ranges, func(w io.Writer) error {
		_, err := w.Write(encoded)
		return err
	})
	return fmt.Sprintf("%s: %s with the ranges of %d layers, from %d training images, and the colours of all %d", r.ranges, meta.Name,
		len(meta.Ranges), min(rangeImages, len(cases)), len(cases)), err
}
