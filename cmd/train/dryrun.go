package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"mrprism/internal/training"
)

// try tells on stdout what training would cost.
func (r *runner) try(ctx context.Context, stdout io.Writer) error {
	d, err := r.open(ctx)
	if err != nil {
		return err
	}
	defer d.Close()
	r.note(fmt.Sprintf("computing on %s", d.Info()))
	t, err := training.New(ctx, d, r.options, r.bar.reading)
	r.bar.end()
	if err != nil {
		return err
	}
	defer t.Close()
	r.describe(t)
	table := tabwriter.NewWriter(stdout, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "side\tGPU memory\ta step\timages/s\twaiting for data\tall its steps")
	most, total := int64(0), time.Duration(0)
	err = t.Try(ctx, func(trial training.Trial) {
		fmt.Fprintf(table, "%d²\t%d MiB\t%.3g s\t%.1f\t%.1f %%\t%s\n", trial.Side, trial.Bytes>>20, trial.Seconds,
			float64(trial.Images)/trial.Seconds, 100*trial.DataSeconds/trial.Seconds, trial.Left.Round(time.Second))
		most, total = max(most, trial.Bytes), total+trial.Left
	})
	if err != nil {
		return err
	}
	table.Flush()
	_, err = fmt.Fprintf(stdout, "the run: %d MiB of GPU memory at most, %s, checkpoints not counted\n", most>>20, total.Round(time.Second))
	return err
}
