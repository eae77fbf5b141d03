package main

import (
	"context"
	"io"
	"time"

	"mrprism/internal/output/table"
	"mrprism/internal/train"
)

// try prints the cost of training on stdout.
func (r *runner) try(ctx context.Context, stdout io.Writer) error {
	return r.prepare(ctx, func(t *train.Trainer) error {
		columns := table.New(3, 0)
		columns.Line("side\tGPU memory\ta step\timages/s\twaiting for data\tall its steps")
		most, total := int64(0), time.Duration(0)
		err := t.Try(ctx, func(trial train.Trial) {
			columns.Line("%d²\t%d MiB\t%.3g s\t%.1f\t%.1f %%\t%s", trial.Side, trial.Bytes>>20, trial.Seconds,
				float64(trial.Images)/trial.Seconds, 100*trial.DataSeconds/trial.Seconds, trial.Left.Round(time.Second))
			most, total = max(most, trial.Bytes), total+trial.Left
		})
		if err != nil {
			return err
		}
		if r.options.Follows() {
			return nil
		}
		columns.Break()
		columns.Line("the run: %d MiB of GPU memory at most, %s, checkpoints not counted", most>>20, total.Round(time.Second))
		return columns.Print(stdout)
	})
}
