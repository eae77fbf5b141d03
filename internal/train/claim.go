package train

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"mrprism/internal/choice"
	"mrprism/weights/disk"
)

// claim makes the run's folder and locks it. It writes a trial file, since hours of training must
// not end with a folder that is not writable, or with a link in the place of a file. No other process can train in the folder until the
// lock is closed or this process ends.
func (o Options) claim() (io.Closer, error) {
	if o.Resume { // without a run, no folder must be made
		if _, err := os.Stat(o.Out); err != nil {
			return nil, o.nothing(err)
		}
	}
	if err := os.MkdirAll(o.Out, 0o755); err != nil {
		return nil, fmt.Errorf("the run's folder cannot be made: %w", err)
	}
	trial := filepath.Join(o.Out, ".trial") // the next run removes what a killed one leaves
	if err := disk.WriteFile(o.Out, filepath.Base(trial), nil); err != nil {
		return nil, fmt.Errorf("the run's folder cannot be written to: %w: make room there, or let it be written to, and start again", err)
	}
	if err := os.Remove(trial); err != nil && !errors.Is(err, os.ErrNotExist) { // somebody else may
		return nil, err
	}
	entries, err := os.ReadDir(o.Out)
	for _, e := range entries {
		if !e.IsDir() && err == nil {
			err = disk.CheckFile(filepath.Join(o.Out, e.Name()))
		}
	}
	if err != nil {
		return nil, err
	}
	held, err := disk.Lock(o.Out)
	if err != nil {
		return nil, choice.Errorf("%s: another process is training in this folder: wait for it, stop it, or name another $out", o.Out)
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
	const resume, other = "resume that run with $resume, or", "it is of another run,"
	for _, f := range []struct{ name, advice string }{
		{Checkpoint, resume}, {PreviousCheckpoint, resume}, {o.Name + floatSuffix, other}, {o.Name + smallSuffix, other},
	} {
		path := filepath.Join(o.Out, f.name)
		if _, err := os.Lstat(path); err == nil {
			return choice.Errorf("%s exists: "+f.advice+" name another $out for a new one", path)
		}
	}
	return nil
}
