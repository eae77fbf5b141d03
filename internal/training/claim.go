package training

import (
	"fmt"
	"io"
	"os"
)

// claim makes the run's folder, tries it before hours are spent on what could not be saved, and keeps other processes from training in
// it until it is closed, or this process has ended, however that came about.
func (o Options) claim() (io.Closer, error) {
	if o.Resume { // no folder is left behind where there is no run
		if _, err := os.Stat(o.Out); err != nil {
			return nil, o.nothing(err)
		}
	}
	if err := os.MkdirAll(o.Out, 0o755); err != nil {
		return nil, fmt.Errorf("the run's folder cannot be made: %w", err)
	}
	trial, err := os.CreateTemp(o.Out, ".trial.*")
	if err != nil {
		return nil, fmt.Errorf("the run's folder cannot be written to: %w", err)
	}
	trial.Close()
	if err := os.Remove(trial.Name()); err != nil {
		return nil, err
	}
	held, err := lock(o.Out)
	if err != nil {
		return nil, fmt.Errorf("%s: another process is training in this folder: wait for it, stop it, or name another -out", o.Out)
	}
	return held, nil
}
