//go:build !js

// Command tables trains the methods of the paper's tables, compares them, and writes the files of
// weights/shipped/tables. `make tables` runs it. Stopped by Ctrl-C, it goes on where it was.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
)

func main() {
	r := &runner{programs: "build", nice: []string{"nice", "-n", "19"}}
	flag.StringVar(&r.out, "out", "runs/tables", "`FOLDER` of trainings and comparisons")
	flag.StringVar(&r.shared, "data", "../shared/data", "`FOLDER` of the data sets")
	flag.IntVar(&r.steps, "steps", 600, "`STEPS` of each training")
	flag.IntVar(&r.seeds, "seeds", 3, "`NUMBER` of seeds")
	match := flag.String("match", "", "train only what matches the `REGEXP`, of names such as bubil-cells/wdnet-seed1")
	flag.StringVar(&r.scores, "scores", "cmd/study/tables/scores", "`FOLDER` of the scores of each image, which stay; what is there is not trained again")
	only := flag.Bool("write", false, "train and score nothing: write the tables of what there is")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	chosen, err := regexp.Compile(*match)
	if err == nil && !*only {
		err = r.all(ctx, chosen)
	}
	if ctx.Err() == nil {
		err = errors.Join(err, r.write("weights/shipped/tables"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "tables:", err)
		os.Exit(1)
	}
}

// runs lists the runs of a data set and a seed, each once, the mean vote first.
func (r *runner) runs(d data, seed int) (list []run) {
	seen := map[string]bool{}
	for _, t := range append(tables(), confirmation()) {
		if !t.covers(d) {
			continue
		}
		for _, e := range t.rows {
			x := run{data: d, entry: e, seed: seed}
			if !seen[x.name()] && d.suits(e) {
				seen[x.name()] = true
				list = append(list, x)
			}
		}
	}
	return list
}

// all trains every run that is chosen, the first seed of all data sets first, and compares. A run
// that fails does not stop the others.
func (r *runner) all(ctx context.Context, chosen *regexp.Regexp) error {
	var failed []error
	for seed := 1; seed <= r.seeds; seed++ {
		for _, d := range everyData() {
			runs := r.runs(d, seed)
			done, err := r.done(d)
			if err != nil {
				return err
			}
			for _, x := range runs {
				if !done[x.name()] && chosen.MatchString(filepath.Join(d.name, x.name())) {
					if err := r.train(ctx, x); ctx.Err() != nil {
						return ctx.Err()
					} else if err != nil {
						fmt.Fprintln(os.Stderr, "tables:", err)
						failed = append(failed, errors.New(r.folder(x)))
					}
				}
			}
			if err := r.compare(ctx, d, seed, runs); err != nil {
				return err
			}
			if err := r.collect(d); err != nil {
				return err
			}
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("these runs failed:\n%w", errors.Join(failed...))
	}
	return nil
}
