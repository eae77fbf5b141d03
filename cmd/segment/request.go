package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"mrprism/internal/command"
	"mrprism/internal/command/computing"
	"mrprism/internal/command/journal"
	"mrprism/internal/data/roi"
	"mrprism/internal/files/imageio"
	"mrprism/internal/output/masks"
	"mrprism/internal/output/objects"
	"mrprism/internal/program/cli"
	"mrprism/internal/segment"
	"mrprism/model"
)

// request is what the command line asks for.
type request struct {
	weightsName *string // of one model or several
	precision   *model.Precision
	device      *computing.Device
	options     segment.Options
	out, table  string // the folder of results; the file of -csv, empty without
	json        string // - or empty: where the entries go
	quiet       bool
	slice       int // journal.Run.Slice
	identity    bool
	outlines    bool
	formats     []masks.Format
	objects     []objects.Format // of -roi all
	format      string           // as given
	marks       []journal.Mark
	named       []string        // images and folders
	given       map[string]bool // the flags that the user gave
	serves      bool            // see serve
	proves      string          // the folder of -verify
	found       map[journal.Origin]found
}

// flags are the flags, which set the request.
func (r *request) flags() *cli.Groups {
	flags := cli.NewGroups()
	flags.Add("task", func(f *flag.FlagSet) {
		r.weightsName = computing.EnsembleFlag(f)
		f.StringVar(&r.out, "out", "", "`DIR` for the results, which is made if missing (required, but for -json)")
		f.StringVar(&r.proves, "verify", "", "in place of -out: compute the results in `DIR` again, on the device processor, and compare every byte and figure")
		f.StringVar(&r.json, "json", "", "`-`: print what STEM.json has, a line an image, in place of the lines for people; without -out no file is written")
		f.BoolVar(&r.quiet, "quiet", false, "print errors alone, and with -json what it prints")
		f.StringVar(&r.table, "csv", "", "also write a table, `FILE`.csv, with a line an image, or go on with it: images that are done stay as they are")
		f.StringVar(&r.options.ROI, "roi", "auto", "`REGION` to segment: auto, none (the whole image), x,y,side in pixels, or all: every object, such as each cell of a field")
		f.IntVar(&r.options.Recurrences, "recurrences", segment.DefaultRecurrences, "compute the masks Rec0 to Rec`N`, each from the one before, and write RecN (0 to 32). "+
			"Of weights that take marks: the passes around -evidence, 2 unless given; none run without it")
		f.Func("slice", "picture `N` of each file, from 1: a page, a frame, or a slice of a volume (default the middle; of a TIFF the first), or all, and the volume that they make", func(text string) (err error) {
			if r.slice = journal.All; text == "all" {
				return nil
			}
			if r.slice, err = strconv.Atoi(text); err != nil || r.slice < 1 {
				return errors.New("slices count from 1; all is each")
			}
			return nil
		})
		f.StringVar(&r.options.Eye, "eye", "", "which `EYE` the photographs show, right or left (default as DICOM, the file's name or the side of the disc tells)")
		f.Func("format", "write masks in these `FORMATS`, separated by commas (default "+masks.Formats[0].Name+"): "+masks.Names()+". "+
			"identity among them keeps in files of DICOM what their source says of patient and study, and refers to the source by its UIDs; outlines adds the masks of each structure's inner and outer outline, "+
			"between which a further expert's lies in 90 % of images, where the weights know them and the structure may be used. With -roi all: "+objects.Names(), func(text string) error { r.format = text; return nil })
		f.Func("evidence", "what a rater of the weights, or you, marked on the one photograph, `RATER=FILE` or RATER/CLASS=FILE; may be repeated", func(text string) error {
			m, err := parseMark(text)
			r.marks = append(r.marks, m)
			return err
		})
	})
	flags.Add("computing", func(f *flag.FlagSet) { r.precision, r.device = computing.Flags(f) })
	// Scripts may still give what -csv implies, and words of -format.
	flags.Bool("resume", false, "")
	flags.BoolVar(&r.outlines, "outlines", false, "")
	flags.BoolVar(&r.identity, "identity", false, "")
	flags.BoolVar(&r.serves, "pipe", false, "") // package mrprism of Python
	return flags
}

// parseFormats reads -format.
func (r *request) parseFormats(text string) (err error) {
	words := map[string]*bool{"outlines": &r.outlines, "identity": &r.identity}
	names := slices.DeleteFunc(strings.Split(text, ","), func(name string) bool {
		word := words[strings.TrimSpace(name)]
		if word != nil {
			*word = true
		}
		return word != nil
	})
	if len(names) > 0 {
		r.formats, err = masks.Parse(strings.Join(names, ","))
	}
	return err
}

// check returns an error of usage.
func (r *request) check() error {
	switch {
	case r.proves != "":
		return r.checkVerify()
	case *r.weightsName == "":
		return cli.Wrong("which weights? give -weights NAME or FILE (shipped: %s)", computing.Shipped())
	case r.json != "" && r.json != "-":
		return cli.Wrong("-json %s: give -, the standard output; with -out each image has its JSON there", r.json)
	case r.out == "" && (r.json == "" || r.table != "") && !r.serves:
		return cli.Wrong("where to? give -out DIR, or -json - alone")
	case len(r.named) == 0 && !r.serves:
		return cli.Wrong("no images: give one or more files (PNG, JPEG, TIFF, BMP, WebP, DICOM or NIfTI), or a folder of them")
	case r.table != "" && filepath.Ext(r.table) != ".csv":
		return cli.Wrong("-csv %s: name a file that ends in .csv", r.table)
	case r.slice == journal.All && len(r.marks) > 0:
		return cli.Wrong("-slice all: -evidence marks one picture; name it by -slice N")
	case r.options.Recurrences < 0 || r.options.Recurrences > segment.MaxRecurrences:
		return cli.Wrong("-recurrences %d: choose 0 to %d", r.options.Recurrences, segment.MaxRecurrences)
	}
	if err := r.checkRegion(); err != nil {
		return err
	}
	if err := segment.CheckEye(r.options.Eye); err != nil {
		return cli.Wrong("-eye: %w", err)
	}
	return r.device.Check()
}

// checkVerify is check of -verify.
func (r *request) checkVerify() error {
	for name := range r.given {
		if !slices.Contains([]string{"verify", "weights", "device", "json", "quiet"}, name) {
			return cli.Wrong("-verify takes -%s from the results themselves; leave it out", name)
		}
	}
	return r.device.Check()
}

// checkRegion reads -roi, and -format, whose words depend on it.
func (r *request) checkRegion() (err error) {
	switch {
	case r.options.ROI != everything:
		if _, err := roi.Parse(r.options.ROI); err != nil {
			return cli.Wrong("-roi: %w", err)
		}
		if r.format != "" {
			err = r.parseFormats(r.format)
		}
	case r.table != "" || len(r.marks) > 0 || r.slice == journal.All || r.given["recurrences"]:
		return cli.Wrong("-roi all finds the objects of single pictures: leave -csv (format csv has a table for each image), -evidence, -recurrences and -slice all out")
	case r.format != "":
		r.objects, err = parseObjects(r.format)
	default:
		r.objects, err = parseObjects("labels-png,csv")
	}
	if err != nil {
		return cli.Wrong("-format: %w", err)
	}
	return nil
}

// batch reads the weights and plans the images. With -csv it leaves out those that are done; if
// none is left, there is nothing to do.
func (r *request) batch(stdout, stderr io.Writer) (*batch, []journal.Item, error) {
	images, parts, others, err := imagesOf(r.named, r.out, r.slice == journal.All)
	if err != nil {
		return nil, nil, cli.Wrong("%w", err)
	}
	given := len(images)
	images = distinct(images)
	m, err := segment.LoadEnsemble(*r.weightsName)
	if err != nil {
		return nil, nil, err
	}
	if err := segment.CheckRecurrences(&m.Metadata, r.options.Recurrences); err != nil && r.given["recurrences"] {
		return nil, nil, cli.Wrong("-recurrences: %w", err)
	}
	marks, err := resolve(r.marks, &m.Metadata, len(images))
	if err != nil {
		return nil, nil, cli.Wrong("%w", err)
	}
	if r.outlines && (m.Metadata.Trust == nil || len(m.Metadata.Trust.Outlines) == 0) {
		return nil, nil, cli.Wrong("-format outlines: model %s has learned no outlines; leave outlines out, or let \"export -ranges\" learn them from -folds", m.Metadata.Name)
	}
	if r.options.ROI == everything {
		r.formats = nil
		if !segment.FindsMany(m) {
			return nil, nil, cli.Wrong("-roi all: model %s marks one %s a picture, and finds no further ones", m.Metadata.Name, m.Metadata.Classes[0])
		}
	}
	readers := masks.Readers(segment.Heads(&m.Metadata), m.Metadata.Classes, segment.Labels(&m.Metadata), len(marks) > 0, r.outlines)
	var items []journal.Item
	if r.out == "" { // no files
		for _, image := range images {
			items = append(items, journal.Item{Image: image, Marks: marks})
		}
		readers, r.formats = nil, nil
	} else if items, err = plan(r.out, images, marks, readers, m.Metadata.Classes, r.formats); err != nil {
		return nil, nil, cli.Wrong("%w", err)
	}
	if !r.given["recurrences"] {
		r.options.Recurrences = segment.Trained
	}
	notes := stderr
	if r.quiet {
		notes = io.Discard
	}
	b := &batch{
		Run: journal.Run{
			Program: program, Session: segment.Session{Model: m, Precision: *r.precision, Open: r.device.Open}, Weights: *r.weightsName,
			Options: r.options, Slice: r.slice, Readers: readers, Identity: r.identity, Day: time.Now(),
		},
		formats: r.formats, parts: parts, stdout: stdout, stderr: stderr, progress: command.NewProgress(notes, len(items)), json: r.json != "", quiet: r.quiet,
	}
	b.Session.Note = func(text string) { b.progress.Note(program, text) }
	if r.table != "" {
		if b.table, err = b.open(r.table, r.out); err != nil {
			return nil, nil, err
		}
		items = b.remaining(items)
		b.progress = command.NewProgress(notes, len(items))
		if err := b.table.write(); err != nil {
			return nil, nil, err
		}
	}
	if again := given - len(images); again > 0 {
		b.Session.Note(fmt.Sprintf("%d images are named twice and are segmented once", again))
	}
	if others > 0 {
		b.Session.Note(fmt.Sprintf("%d files of the folders are no images and were left out", others))
	}
	return b, items, nil
}

// distinct leaves out paths that are named again, and the values of a NIfTI header that is named.
func distinct(paths []string) (out []string) {
	seen := map[string]bool{}
	for _, path := range paths {
		clean := filepath.Clean(path)
		if head := imageio.HeaderOf(clean); slices.ContainsFunc(paths, func(path string) bool { return filepath.Clean(path) == head }) {
			clean = head // of a pair that is named whole
		}
		if !seen[clean] {
			seen[clean] = true
			out = append(out, path)
		}
	}
	return out
}

// prepare opens the device, loads the network and makes the folder of results.
func (r *request) prepare(ctx context.Context, b *batch) error {
	b.progress.Show("preparing the network")
	err := b.Session.Ready(ctx)
	b.progress.Clear()
	if err != nil {
		return fmt.Errorf("-weights %s: %w", *r.weightsName, err)
	}
	if r.out == "" {
		return nil
	}
	if err := os.MkdirAll(r.out, 0o777); err != nil {
		return fmt.Errorf("the folder of -out cannot be made: %w; name another one", err)
	}
	return nil
}
