package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"sync"
	"syscall"

	"mrprism/internal/program/cli"
)

// childArgument as the only argument makes the program a child.
const childArgument = "-child"

// reply is the answer of a child to its task and to each file.
type reply struct {
	Outcome Outcome
	Error   string // an error of the results' folder, which ends the pipeline
}

// child is a process that segments one image at a time, as the process that started it sees it. If
// an image kills the child, no other image is lost.
type child struct {
	process *exec.Cmd
	in      io.WriteCloser // the task, then names of files, in JSON
	replies *json.Decoder
	said    words
}

// death is how a child ended.
type death struct {
	how   string // for example "signal: killed"
	early bool   // before it had loaded the weights, so that no image is to blame
}

func (d death) Error() string {
	if d.early {
		return "a worker's process ended before it had loaded the weights: " + d.how
	}
	return d.how
}

// start starts a child and waits until it has loaded the weights. The child ends when this process
// ends.
func (t Task) start(ctx context.Context) (*child, error) {
	c, err := launch(max(1, runtime.GOMAXPROCS(0)/t.Workers))
	if err != nil {
		return nil, fmt.Errorf("a worker's process does not start: %w", err)
	}
	_, err = c.ask(ctx, t)
	if died := (death{}); errors.As(err, &died) {
		err = death{died.how, true}
	}
	if err != nil {
		c.in.Close()
		return nil, err
	}
	return c, nil
}

// launch starts the process of a child that uses a number of cores.
func launch(cores int) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{process: exec.Command(self, childArgument)}
	c.process.Env = append(os.Environ(), fmt.Sprintf("GOMAXPROCS=%d", cores))
	c.process.Stderr = io.MultiWriter(os.Stderr, &c.said)
	out, err := c.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if c.in, err = c.process.StdinPipe(); err != nil {
		return nil, err
	}
	c.replies = json.NewDecoder(out)
	return c, c.process.Start()
}

// ask sends the child its task or the name of a file, and waits for the reply. The error is a death
// if the child ends instead. If ctx ends, ask ends the child and returns the error of ctx.
func (c *child) ask(ctx context.Context, what any) (Outcome, error) {
	defer context.AfterFunc(ctx, func() { c.process.Process.Kill() })()
	c.said.forget()
	var r reply
	err := json.NewEncoder(c.in).Encode(what)
	if err == nil {
		err = c.replies.Decode(&r)
	}
	if err != nil {
		c.in.Close()
		c.process.Wait()
	}
	switch {
	case ctx.Err() != nil:
		return Outcome{}, ctx.Err()
	case err != nil:
		return Outcome{}, death{c.process.ProcessState.String() + c.said.firstLine(), false}
	case r.Error != "":
		return Outcome{}, errors.New(r.Error)
	}
	return r.Outcome, nil
}

// serve is the child itself: it answers its task and then each file, until its input ends. It
// returns the exit code.
func serve(ctx context.Context, in io.Reader, out io.Writer) int {
	signal.Ignore(os.Interrupt, syscall.SIGTERM) // the parent gets them too, and decides
	requests, replies := json.NewDecoder(in), json.NewEncoder(out)
	var t Task
	if requests.Decode(&t) != nil {
		return cli.Failed
	}
	s, err := t.segmenter()
	if err == nil {
		if err = s.Session.Ready(ctx); err != nil {
			err = fmt.Errorf("-weights %s: %w", t.Weights, err)
		}
	}
	for o, path := (Outcome{}), ""; ; o, err = s.file(ctx, path) {
		r := reply{Outcome: o}
		if err != nil {
			r.Error = err.Error()
		}
		if replies.Encode(r) != nil || requests.Decode(&path) != nil {
			return cli.Done // the parent is gone
		}
	}
}

// words are the beginning of a child's messages on stderr while it has a file.
type words struct {
	sync.Mutex
	text []byte
}

func (w *words) Write(b []byte) (int, error) {
	w.Lock()
	defer w.Unlock()
	w.text = append(w.text, b[:min(len(b), 1000-min(1000, len(w.text)))]...)
	return len(b), nil
}

func (w *words) forget() {
	w.Lock()
	defer w.Unlock()
	w.text = nil
}

// firstLine is the first line in brackets, such as " (fatal error: out of memory)".
func (w *words) firstLine() string {
	w.Lock()
	defer w.Unlock()
	line, _, _ := bytes.Cut(bytes.TrimSpace(w.text), []byte("\n"))
	if len(line) == 0 {
		return ""
	}
	return " (" + string(line) + ")"
}
