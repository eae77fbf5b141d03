package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"mrprism/internal/command"
	"mrprism/internal/command/journal"
	"mrprism/internal/data/instances"
	"mrprism/internal/files/imageio"
	"mrprism/internal/output/objects"
	"mrprism/internal/program/cli"
	"mrprism/internal/program/version"
	"mrprism/internal/segment"
	"mrprism/weights/disk"
)

// everything is the region of -roi that stands for all objects of a picture.
const everything = "all"

// objectsHelp lists the formats of objects for the help.
var objectsHelp = func() (text string) {
	for _, f := range objects.Formats {
		text += fmt.Sprintf("  %-21s%-29s%s\n", f.Name, "STEM"+f.Ending, f.About)
	}
	return text
}()

// fieldEntry is what STEM.json has of a picture with its objects.
type fieldEntry struct {
	Image   string             `json:"image"`
	Content string             `json:"image_sha256"`
	Width   int                `json:"width"`
	Height  int                `json:"height"`
	Class   string             `json:"class"`
	Objects []instances.Object `json:"objects"` // empty, not null, without objects
	Weights journal.Origin     `json:"weights"`
	Device  string             `json:"device"`
	Program string             `json:"program"`
	Date    string             `json:"date"`
	Options string             `json:"options"`
	Files   []journal.Saved    `json:"files"`
}

// parseObjects reads -format of -roi all.
func parseObjects(text string) (all []objects.Format, err error) {
	for name := range strings.SplitSeq(text, ",") {
		f, err := objects.Find(strings.TrimSpace(name))
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}

// fields finds all objects of each picture, and names pictures that fail.
func (b *batch) fields(ctx context.Context, items []journal.Item, formats []objects.Format) error {
	failed := 0
	for _, it := range items {
		b.progress.Begin()
		err := b.field(ctx, it, formats)
		b.progress.Clear()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			failed++
			command.NewProgress(b.stderr, 0).Note(program, err.Error())
			if b.json {
				err = b.print(written{it: it, err: err})
			}
		}
	}
	switch {
	case failed == 0:
		return nil
	case len(items) > 1:
		return fmt.Errorf("%d of %d images failed", failed, len(items))
	}
	return cli.Exit(cli.Failed)
}

func (b *batch) field(ctx context.Context, it journal.Item, formats []objects.Format) error {
	p := b.read(it)
	if p.err != nil {
		return p.err
	}
	it = it.Picture(p.image.Slice, p.image.Slices)
	options := b.Options
	options.ROI, options.Progress = "none", func(stage string, done, total int) {
		b.progress.Show("%s: %s %d of %d", it.Image, map[string]string{"find": "finding, tile", "outline": "outline"}[stage], done+1, total)
	}
	var field *instances.Field
	device := ""
	err := b.Session.Do(ctx, func(e *segment.Engine) (err error) {
		device = e.Adapter()
		field, err = e.Field(ctx, p.image, options)
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", it.Image, err)
	}
	m := b.Session.Model
	entry := fieldEntry{
		Image: imageio.Valid(it.Image), Content: p.content, Width: field.Width, Height: field.Height, Class: field.Class, Objects: append([]instances.Object{}, field.Objects...),
		Weights: journal.Origin{Given: b.Weights, Title: m.Label(), SHA256: m.SHA256, Ours: m.Shipped},
		Program: program + " " + version.Source(), Date: b.Day.UTC().Format(time.RFC3339), Options: b.Asked(nil), Device: device, Files: []journal.Saved{},
	}
	if it.Entry != "" {
		if err := b.save(&entry, it, formats, &objects.Drawing{Field: field, Picture: p.image, Name: it.Image}); err != nil {
			return fmt.Errorf("%s: %w", it.Image, err)
		}
	}
	b.progress.Clear()
	if b.json {
		return json.NewEncoder(b.stdout).Encode(entry)
	}
	if !b.quiet {
		_, err = fmt.Fprintln(b.stdout, cli.Message(describeField(it.Image, field)))
	}
	return err
}

// save writes the files of the objects, and last the entry.
func (b *batch) save(entry *fieldEntry, it journal.Item, formats []objects.Format, d *objects.Drawing) error {
	folder, stem := filepath.Dir(it.Entry), strings.TrimSuffix(filepath.Base(it.Entry), ".json")
	for _, f := range formats {
		data, err := f.Write(d)
		if err == nil {
			err = disk.WriteFile(folder, stem+f.Ending, data)
		}
		if err != nil {
			return err
		}
		entry.Files = append(entry.Files, journal.Saved{File: stem + f.Ending, Format: f.Name, By: instances.Model, Sum: disk.SumOf(data)})
	}
	text, err := journal.Text(entry)
	return errors.Join(err, disk.WriteFile(folder, stem+".json", text))
}

// describeField is the line for people.
func describeField(image string, f *instances.Field) string {
	doubted, cut := 0, 0
	for _, o := range f.Objects {
		if o.Doubt != nil && *o.Doubt > 1 {
			doubted++
		}
		if o.Cut {
			cut++
		}
	}
	switch len(f.Objects) {
	case 0:
		return fmt.Sprintf("%s: no %s found", image, f.Class)
	case 1:
		return fmt.Sprintf("%s: 1 %s; doubted %d, cut by the border %d", image, f.Class, doubted, cut)
	}
	return fmt.Sprintf("%s: %d %ss; doubted %d, cut by the border %d", image, len(f.Objects), f.Class, doubted, cut)
}
