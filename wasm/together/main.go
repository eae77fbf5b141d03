// Command together brings the marks of several people together for the page (learn/together.js). It
// lists the images of their sessions, says how people agree, and then does what it is asked for on
// its standard input, as "train import sessions", "evaluate raters" and "evaluate fuse" do. It
// reads sessions piece by piece, and images only if they are asked for. The page loads it when it is
// wanted.
//
//	together FOLDER
//
// FOLDER/in holds sessions and images. FOLDER/sums.json, if it is there, has the images' SHA-256 by
// path. Without FOLDER/in, FOLDER/data is a data set already. The program prints events, a line of
// JSON each (events.go). The page asks by lines too:
//
//	show NAME   an image with all masks and fused maps: see Shown
//	fuse        learn to fuse by edges from all images, and write FOLDER/fused/raters.csv
//	report      write FOLDER/agreement/raters.html with pictures
//	save        write FOLDER/data, of sessions
//	crops       write it with an image around each object that people marked
//	fields      write it with the fused objects of whole images
//	stop        end what it does now
package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"mrprism/internal/data/dataset"
	"mrprism/internal/data/importer"
	"mrprism/internal/program/cli"
	"mrprism/internal/study/agree"
	"mrprism/internal/study/fuse"
	"mrprism/internal/study/report"
)

const longest = 1024 // pixels of an image's longer side, as "train import" has it

const memory = 128 << 20 // bytes above which garbage is collected at once: the page has a tab's share

const (
	pause = 100 * time.Millisecond // between the page's turns, and
	turn  = time.Millisecond       // how long one is: the page runs while the program sleeps
	first = time.Second            // delay before the first, partial table is sent
)

func main() {
	debug.SetGCPercent(200) // what stays is little: lists of what the sessions say
	debug.SetMemoryLimit(memory)
	cli.Main(func(ctx context.Context, args []string, stdout, stderr io.Writer) int {
		return run(ctx, args, os.Stdin, stdout, stderr)
	})
}

// run is the program; it returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	err := errors.New("give one FOLDER")
	if len(args) == 1 {
		t := &together{folder: args[0], asked: make(chan string, 100), events: json.NewEncoder(stdout)}
		go t.listen(stdin)
		err = t.serve(ctx)
	}
	if err != nil {
		fmt.Fprintln(stderr, "together:", cli.Message(err.Error()))
		return cli.Failed
	}
	return 0
}

// together is the state of the program.
type together struct {
	folder   string
	data     *dataset.Dataset
	sessions *importer.Sessions // nil for a data set
	sums     map[string]string
	agree    *agree.Study
	fuse     *fuse.Study

	asked  chan string
	later  []string // asked for while something else was done
	events *json.Encoder
	turned time.Time // the page's last turn
	stop   context.CancelFunc
}

func (t *together) listen(stdin io.Reader) {
	for lines := bufio.NewScanner(stdin); lines.Scan(); {
		t.asked <- lines.Text()
	}
	close(t.asked)
}

func (t *together) in(name string) string { return filepath.Join(t.folder, name) }

func (t *together) importing(ctx context.Context) importer.Options {
	return importer.Options{Source: t.in("in"), Destination: t.in("data"), Longest: longest, Lenient: true, Sums: t.sums, Progress: t.progress(ctx, "save")}
}

func (t *together) readSums() error {
	text, err := os.ReadFile(t.in("sums.json"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return cmp.Or(err, json.Unmarshal(text, &t.sums))
}

// serve opens what is in the folder, and does what is asked for until the input ends.
func (t *together) serve(ctx context.Context) (err error) {
	if _, missing := os.Stat(t.in("in")); missing != nil {
		t.data, err = dataset.Open(t.in("data"))
	} else if err = t.readSums(); err != nil {
		return err
	} else if t.sessions, err = importer.OpenSessions(t.importing(ctx)); err == nil {
		defer t.sessions.Close()
		t.data = t.sessions.Data
	}
	if err != nil {
		return err
	}
	made := report.NewOrigin("evaluate raters")
	if t.sessions != nil {
		for _, path := range slices.Sorted(maps.Keys(t.sessions.Sums)) {
			made.Data = append(made.Data, report.Source{Name: "session.json of " + filepath.Base(path), Files: 1, SHA256: t.sessions.Sums[path]})
		}
	} else if err := made.AddData(ctx, t.data.Cases, t.data.Classes); err != nil {
		return err
	}
	t.list()
	if t.agree, err = agree.New(t.data, made); err != nil {
		return err
	}
	t.fuse = fuse.New(t.data, t.data.Cases, fuse.Request{Out: t.in("fused"), Methods: []fuse.Method{fuse.Majority, fuse.STAPLE}})
	if err := t.work(ctx, "compare", t.compare); err != nil {
		return err
	}
	for {
		if len(t.later) == 0 {
			if t.asked == nil {
				return nil
			}
			line, open := <-t.asked
			if !open {
				return nil
			}
			t.later = append(t.later, line)
		}
		line := t.later[0]
		t.later = t.later[1:]
		act := map[string]func(context.Context) error{"fuse": t.fuseAll, "report": t.report, "save": t.save(""), importer.Crops: t.save(importer.Crops), importer.Fields: t.save(importer.Fields)}[line]
		if act == nil {
			t.answer(line)
		} else if err := t.work(ctx, line, act); err != nil {
			t.send(event{Failed: cli.Message(err.Error()), Doing: line})
		}
	}
}

// work does something that "stop" ends, and says that it is done.
func (t *together) work(ctx context.Context, doing string, act func(context.Context) error) error {
	within, stop := context.WithCancel(ctx)
	defer stop()
	t.stop, t.turned = stop, time.Time{} // "stop" may have come already
	err := act(within)
	stopped := within.Err() != nil && ctx.Err() == nil
	if err == nil || stopped {
		t.send(event{Done: doing, Stopped: stopped, Skipped: t.skipped()})
		return nil
	}
	return err
}

// compare compares the raters, and sends a table now and then: of the images until then.
func (t *together) compare(ctx context.Context) error {
	begun, done := time.Now(), 0
	next := begun.Add(first)
	err := t.agree.Gather(ctx, func(string) {
		if done++; time.Now().After(next) {
			t.send(event{Agreement: t.agree.Report()})
			t.tell("compare", begun, done, len(t.data.Cases))
			next = time.Now().Add(time.Since(begun)) // ever more seldom, as it takes longer
		}
		t.turn()
	})
	r := t.agree.Report()
	if r.Images == 0 && err == nil {
		err = errors.New("none of the images could be used")
		for _, s := range t.skipped() {
			err = fmt.Errorf("%w\n  %s: %s", err, s.File, s.Reason)
		}
	}
	if err != nil && (ctx.Err() == nil || r.Images == 0) {
		return err
	}
	objects, err := t.compareFields(ctx)
	if err != nil && ctx.Err() == nil {
		return err
	}
	t.send(event{Objects: objects})
	t.send(event{Agreement: r, Cases: r.Cases()})
	if err := r.Save(t.in("agreement")); err != nil || len(objects) == 0 {
		return err
	}
	return t.saveFields(objects)
}

func (t *together) report(context.Context) error {
	r := t.agree.Report()
	return errors.Join(t.agree.Illustrate(r), r.Save(t.in("agreement")))
}

// save writes a data set of whole images, or one of objects.
func (t *together) save(objects string) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		o := t.importing(ctx)
		o.Force, o.Objects = true, objects // Force: of a data set that was saved before
		_, err := importer.FromSessions.Run(ctx, o)
		return err
	}
}

// fuseAll learns from all images how to fuse by edges, and fuses all for the figures.
func (t *together) fuseAll(ctx context.Context) error {
	f := fuse.New(t.data, t.data.Cases, fuse.Request{Out: t.fuse.Out, Methods: []fuse.Method{fuse.MeanVote, fuse.Majority, fuse.STAPLE, fuse.Edges}})
	done, tell := 0, t.progress(ctx, "fuse")
	err := f.All(ctx, func(string, string) {
		tell(done, 2*len(t.data.Cases))
		done++
	})
	if err != nil {
		return err
	}
	t.fuse = f
	return f.Save(nil)
}

// answer does what takes less than a second.
func (t *together) answer(line string) {
	name, is := strings.CutPrefix(line, "show ")
	if line == "stop" {
		t.stop()
	}
	if !is {
		return
	}
	shown, err := t.show(name)
	if err != nil {
		t.send(event{Failed: cli.Message(err.Error()), Doing: line})
		return
	}
	t.send(event{Shown: shown})
}

// turn gives the page its turn, if it has waited, and answers what it has asked for meanwhile.
func (t *together) turn() {
	if time.Since(t.turned) < pause {
		return
	}
	time.Sleep(turn)
	for {
		select {
		case line, open := <-t.asked:
			switch {
			case !open:
				t.asked = nil // the input has ended
			case line == "stop" || strings.HasPrefix(line, "show "):
				t.answer(line)
			default:
				t.later = append(t.later, line)
			}
			continue
		default:
		}
		break
	}
	t.turned = time.Now()
}
