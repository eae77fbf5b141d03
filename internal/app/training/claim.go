package training

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// claim makes the run's folder and locks it. It writes a file for trial: hours of training must not
// end with a folder that cannot be written to. No other process can train in the folder until the
// lock is closed or this process ends.
func (o Options) claim() (io.Closer, error) {
	if o.Resume { // must not make a folder if there is no run
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
	if err := o.vacant(); err != nil { // a run may have ended since New checked
		held.Close()
		return nil, err
	}
	return held, nil
}

// vacant refuses a folder with files of another run: checkpoints, or exports whose checkpoints were
// deleted.
func (o Options) vacant() error {
	if o.Resume {
		return nil
	}
	exists := func(path string) bool {
		_, err := os.Lstat(path)
		return err == nil
	}
	for _, name := range []string{Checkpoint, PreviousCheckpoint} {
		if path := filepath.Join(o.Out, name); exists(path) {
			return fmt.Errorf("%s exists: resume that run with -resume, or name another -out for a new one", path)
		}
	}
	for _, suffix := range []string{floatSuffix, smallSuffix} {
		if path := filepath.Join(o.Out, o.Name+suffix); exists(path) {
			return fmt.Errorf("%s exists: it is of another run, name another -out for a new one", path)
		}
	}
	return nil
}
