package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mrprism/internal/command"
	"mrprism/internal/data/dataset"
	"mrprism/internal/program/cli"
	"mrprism/model"
	"mrprism/weights"
)

// compareRequest holds the flags of evaluate compare.
type compareRequest struct {
	data, split, on, region, reference, out string
	named                                   []namedMethod // in the order of the command line
	precision                               *model.Precision
	device                                  command.Device
}

// namedMethod is a method as the command line gives it.
type namedMethod struct {
	name, given string // name is empty if the user gave none
	predictions bool   // a folder; otherwise weights
}

// runCompare is the program as "evaluate compare"; it returns the exit code.
func runCompare(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var r compareRequest
	flags := compareFlags(&r)
	p := cli.Program{Name: program + " compare", Intro: compareIntro + "  " + command.Shipped() + "\n", Examples: compareExamples, Stdout: stdout, Stderr: stderr}
	return p.Run(ctx, flags, args, func(rest []string) error {
		if err := cmp.Or(checkCompare(&r, flags, rest), r.device.Check()); err != nil {
			return err
		}
		return compareAll(ctx, &r, stdout, stderr)
	})
}

func compareFlags(r *compareRequest) *cli.Groups {
	flags := cli.NewGroups()
	list := func(predictions bool) func(text string) error {
		return func(text string) error {
			for one := range strings.SplitSeq(text, ",") {
				name, value := named(one)
				if value == "" {
					return errors.New("a name is empty; remove the comma or give the name")
				}
				r.named = append(r.named, namedMethod{name, value, predictions})
			}
			return nil
		}
	}
	flags.Add("methods", func(f *flag.FlagSet) {
		f.Func("weights", "`NAME`[,FILE,NAME=FILE]: shipped models, and .safetensors files; A+B+C is the mean of several models' maps", list(false))
		f.Func("predictions", "`NAME=DIR`[,NAME=DIR]: folders of predictions, each with the method's name", list(true))
	})
	flags.Add("images", func(f *flag.FlagSet) {
		f.StringVar(&r.data, "data", "", "`DIR`[,DIR]: data sets with the same classes and raters")
		f.StringVar(&r.on, "on", "test", "`PART` of -data to score: test (the held-out images), validation, train or all")
		f.StringVar(&r.split, "split", "", "`FILE` that lists the images for train, validation and test, in place of split.json in the data's folder. Without both every fifth image is held out, or every fifth group of groups.csv")
		f.StringVar(&r.reference, "reference", "mean", "`REFERENCE`: mean (the raters' mean vote), truth (truth/CLASS/NAME.png) or rater:NAME")
		f.StringVar(&r.region, "roi", "none", "`REGION` that the models of -weights see: none (the whole image) or auto (search the image first)")
	})
	flags.Add("output", func(f *flag.FlagSet) {
		f.StringVar(&r.out, "out", "", "new or empty folder `DIR` for report.html, the tables and the figures of every image")
	})
	flags.Add("computing, with -weights", func(f *flag.FlagSet) { r.precision, r.device = command.PrecisionFlag(f), command.DeviceFlags(f) })
	return flags
}

// checkCompare returns an error if the flags are wrong.
func checkCompare(r *compareRequest, flags *cli.Groups, rest []string) error {
	ofWeights := filter(r.named, func(n namedMethod) bool { return !n.predictions })
	for _, name := range []string{"roi", "precision", "device", "dawn-lib"} {
		if flags.Given()[name] && len(ofWeights) == 0 {
			return cli.Wrong("-%s needs -weights", name)
		}
	}
	unnamed := slices.IndexFunc(r.named, func(n namedMethod) bool { return n.predictions && n.name == "" })
	switch {
	case len(rest) > 0:
		return cli.Wrong("unexpected argument %q; give methods as -weights and -predictions", rest[0])
	case r.data == "":
		return cli.Wrong("which data? give -data DIR")
	case len(r.named) == 0:
		return cli.Wrong("which methods? give -weights NAME,FILE or -predictions NAME=DIR (shipped: %s)", command.Shipped())
	case unnamed >= 0:
		return cli.Wrong("-predictions %s: name the method, as in -predictions ours=%s", r.named[unnamed].given, r.named[unnamed].given)
	case !slices.Contains(parts, r.on):
		return cli.Wrong("-on %s: choose %s", r.on, partNames)
	case r.region != "none" && r.region != "auto":
		return cli.Wrong("-roi %s: choose none or auto", r.region)
	case r.reference != "mean" && r.reference != "truth" && !strings.HasPrefix(r.reference, "rater:"):
		return cli.Wrong("-reference %s: choose mean, truth or rater:NAME", r.reference)
	}
	return nil
}

// compareAll scores all methods and delivers the report. Bad predictions make it fail in the end,
// after the report has been written without them.
func compareAll(ctx context.Context, r *compareRequest, stdout, stderr io.Writer) error {
	if r.out != "" {
		if err := vacant(r.out); err != nil {
			return err
		}
	}
	c, err := r.open()
	if err != nil {
		return err
	}
	c.progress = command.NewProgress(stderr, len(c.cases))
	for _, m := range c.methods {
		defer m.Close()
		if n, computes := m.predictor.(*network); computes {
			n.session.Precision, n.session.Open = *r.precision, r.device.Open
			n.session.Note = func(text string) { c.progress.Note("evaluate compare", text) }
		}
	}
	if text := c.data.UnlistedNote(); text != "" {
		c.progress.Note("evaluate compare", text)
	}
	stopped := c.scoreAll(ctx)
	c.progress.Clear()
	if len(c.records) == 0 {
		return cmp.Or(stopped, r.failure(c))
	}
	if !slices.ContainsFunc(c.unmarked, func(n int) bool { return n < len(c.records) }) {
		return cmp.Or(stopped, fmt.Errorf("%s: no image has the reference %s", c.data.Name, c.reference))
	}
	report := c.report()
	report.Split, report.Lists, report.Region = r.on, c.data.Splits, r.region
	return errors.Join(stopped, report.deliver(r.out, stdout), r.failure(c))
}

// failure is the error of predictions that were left out; nil without any.
func (r *compareRequest) failure(c *comparer) error {
	if len(c.troubles) == 0 {
		if len(c.records) == 0 {
			return fmt.Errorf("%s: no image was scored", c.data.Name)
		}
		return nil
	}
	return fmt.Errorf("no figure has what could not be scored: %w", dataset.Problems(each(len(c.troubles), func(i int) string {
		return strings.TrimPrefix(c.troubles[i].Method+": ", ": ") + c.troubles[i].Text
	})))
}

// open opens the data set and the methods.
func (r *compareRequest) open() (*comparer, error) {
	data, err := openDivided(r.split, strings.Split(r.data, ",")...)
	if err == nil && data.AsLevels() {
		err = fmt.Errorf("%s: agreement levels and people cannot be compared with heads together; give -data each folder alone", data.Name)
	}
	if err != nil {
		return nil, err
	}
	c := &comparer{data: data, reference: r.reference, rater: -1}
	if c.cases, err = partOf(data, r.on); err != nil {
		return nil, err
	}
	if name, ok := strings.CutPrefix(r.reference, "rater:"); ok {
		if c.rater = slices.Index(data.Raters, name); c.rater < 0 {
			return nil, fmt.Errorf("-reference %s: %s has the raters %s", r.reference, data.Name, strings.Join(data.Raters, ", "))
		}
	}
	for _, one := range r.named {
		m, err := c.openMethod(one, r.region)
		if err != nil {
			return nil, err
		}
		c.methods = append(c.methods, m)
	}
	if name := sameName(c.methods); name != "" {
		return nil, fmt.Errorf("two methods are called %s; name them, as in -weights first=FILE,second=FILE", name)
	}
	return c, nil
}

func (c *comparer) openMethod(one namedMethod, region string) (m *method, err error) {
	var troubles []trouble
	if one.predictions {
		m, troubles, err = newFolder(one.given, c.data)
	} else {
		m, err = newNetwork(one.given, region, c.data)
	}
	if err != nil {
		return nil, err
	}
	m.Name = cmp.Or(one.name, m.Name)
	for _, t := range troubles {
		c.troubles = append(c.troubles, trouble{m.Name, t.Kind, t.Text})
	}
	return m, nil
}

// deliver writes the files of -out, if it is given, and prints the table. It tries each of them
// even if another fails.
func (r *comparison) deliver(dir string, stdout io.Writer) error {
	var failed []error
	if dir != "" {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		for _, file := range []struct {
			name    string
			content func(io.Writer) error
		}{
			{"cases.csv", r.casesCSV}, {"summary.csv", r.summaryCSV}, {"report.md", r.markdown}, {"tables.tex", r.latex}, {"report.html", r.html},
			{"report.json", func(w io.Writer) error { return command.WriteJSON(w, r) }},
		} {
			failed = append(failed, weights.WriteAtomic(filepath.Join(dir, file.name), file.content))
		}
	}
	return errors.Join(append(failed, r.print(dir, stdout))...)
}
