// Command evaluate scores weights on data sets.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"mrprism/internal/command"
	"mrprism/internal/segment"
	"mrprism/model"
)

const program = "evaluate"

func main() { command.Main(run) }

// request is what the user asked for.
type request struct {
	weightsName, againstName string
	precision                model.Precision
	data, split, region      string
	centres, foreign         string
	recurrences              int
	changed, turned          bool
	jsonPath, csvPath        string
	riskPath, worstPath      string
}

// jsonFile is the file to write the JSON to; empty: none.
func (r *request) jsonFile() string {
	if r.jsonPath == "-" {
		return ""
	}
	return r.jsonPath
}

// declare declares the flags that are the program's own.
func (r *request) declare(flags *flag.FlagSet) {
	flags.StringVar(&r.data, "data", "", "`DIR`[,DIR]: data set folders with the same classes and raters")
	flags.StringVar(&r.centres, "centres", "", "`FILE`[,FILE]: CSVs that tell where the structure lies in whole photographs")
	flags.StringVar(&r.foreign, "foreign", "", "`DIR`[,DIR]: folders of pictures that are not of the model's kind")
	flags.StringVar(&r.againstName, "against", "", "`NAME` or FILE of weights trained without recurrence (recipe baseline, one-pass or bce); with -data, their Rec0 stands beside")
	flags.StringVar(&r.split, "split", "heldout", "`SPLIT` of -data: heldout, train or all")
	flags.StringVar(&r.region, "roi", "none", "`REGION` of the images of -data: none (the image is the region) or auto (search it first)")
	flags.IntVar(&r.recurrences, "recurrences", -1, fmt.Sprintf("feedbacks `N`: Rec0 to RecN are scored (-1: %d, or 0 of weights that learned none)", segment.DefaultRecurrences))
	flags.BoolVar(&r.changed, "changed", false, "also score every image of -data as another camera would show it, and mirrored; each change takes about as long again")
	flags.BoolVar(&r.turned, "turned", false, "also judge every photograph of -centres turned by 90, 180 and 270 degrees")
	flags.StringVar(&r.jsonPath, "json", "", "`FILE` to write all figures to as JSON; - for standard output, instead of the table")
	flags.StringVar(&r.csvPath, "csv", "", "`FILE` to write a line an image of -data and structure to, for statistics programs")
	flags.StringVar(&r.riskPath, "risk", "", "`FILE.svg` to draw the risk–coverage curve of -data to")
	flags.StringVar(&r.worstPath, "worst", "", "`FILE.jpg` to draw the ten worst results of -data, of -centres, or of each, to")
}

// run is the program; it returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var r request
	flags := flag.NewFlagSet(program, flag.ContinueOnError)
	weightsName := command.WeightsFlag(flags)
	precision := command.PrecisionFlag(flags)
	wish := command.DeviceFlags(flags)
	r.declare(flags)
	rest, code, done := command.Parse(flags, fmt.Sprintf(intro, command.Shipped()), examples, args, stdout, stderr)
	if done {
		return code
	}
	r.weightsName, r.precision = *weightsName, *precision
	err := r.misused(flags, rest)
	if err == nil {
		err = wish.Check()
	}
	if err != nil {
		return command.Misused(stderr, program, "%v", err)
	}
	if err := evaluate(ctx, r, wish, stdout, stderr); err != nil {
		return command.Fail(ctx, stderr, program, err)
	}
	return command.Done
}

// onlyFor are the flags that say something about another one.
var onlyFor = map[string]string{
	"against": "data", "split": "data", "roi": "data", "changed": "data", "csv": "data", "risk": "data", "turned": "centres",
}

// misused says what is wrong with the usage; nil where nothing is.
func (r *request) misused(flags *flag.FlagSet, rest []string) (err error) {
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = f.Value.String() != "" })
	switch {
	case r.weightsName == "":
		return fmt.Errorf("which weights? give -weights NAME or FILE (that ship: %s)", command.Shipped())
	case !given["data"] && !given["centres"] && !given["foreign"]:
		return errors.New("which data? give -data DIR, -centres FILE or -foreign DIR")
	case len(rest) > 0:
		return fmt.Errorf("unexpected argument %q; data sets are given as -data DIR,DIR", rest[0])
	case !slices.Contains([]string{"heldout", "train", "all"}, r.split):
		return fmt.Errorf("-split %s: choose heldout, train or all", r.split)
	case r.region != "none" && r.region != "auto":
		return fmt.Errorf("-roi %s: choose none or auto", r.region)
	case r.csvPath == "-":
		return errors.New("-csv -: name a file; what goes to standard output is the table, or the JSON with -json -")
	case r.riskPath != "" && strings.ToLower(filepath.Ext(r.riskPath)) != ".svg":
		return fmt.Errorf("-risk %s: the curve is an SVG picture; name a file that ends in .svg", r.riskPath)
	case given["worst"] && !given["data"] && !given["centres"]:
		return errors.New("-worst says something about -data or -centres, which are missing")
	case r.worstPath != "" && !slices.Contains([]string{".jpg", ".jpeg"}, strings.ToLower(filepath.Ext(r.worstPath))):
		return fmt.Errorf("-worst %s: the sheet is a JPEG picture; name a file that ends in .jpg or .jpeg", r.worstPath)
	case r.recurrences < -1 || r.recurrences > segment.MaxRecurrences:
		return fmt.Errorf("-recurrences %d: 0 to %d are possible", r.recurrences, segment.MaxRecurrences)
	}
	flags.Visit(func(f *flag.Flag) {
		if needed := onlyFor[f.Name]; needed != "" && !given[needed] && err == nil {
			err = fmt.Errorf("-%s says something about -%s, which is missing", f.Name, needed)
		}
	})
	return err
}
