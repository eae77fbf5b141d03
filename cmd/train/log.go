package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"time"

	"mrprism/internal/train"
	"mrprism/weights/disk"
)

// logName is the log in the run's folder, a line of JSON for each step.
const logName = "log.jsonl"

// logLine is one step in the log.
type logLine struct {
	train.Report
	Time string `json:"time"` // RFC 3339
}

// openLog opens a run's log for appending. It removes the lines after the steps that are done, and
// an incomplete line.
func openLog(path string, done int) (*disk.Records, error) {
	f, err := disk.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	end, err := readLog(f, func(l logLine) bool { return l.Step <= done })
	var records *disk.Records
	if err == nil {
		records, err = disk.NewRecords(f, end)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return records, nil
}

// readLog hands line after line to more, until more returns false or a line is incomplete. It
// returns the length of the accepted lines.
func readLog(r io.Reader, more func(logLine) bool) (end int64, err error) {
	lines := bufio.NewReader(r)
	for {
		text, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return end, nil
		}
		if err != nil {
			return 0, err
		}
		var line logLine
		if json.Unmarshal(text, &line) != nil || !more(line) {
			return end, nil
		}
		end += int64(len(text))
	}
}

// logStep writes one line.
func logStep(log *disk.Records, r train.Report) error {
	line, err := json.Marshal(logLine{r, time.Now().UTC().Format(time.RFC3339)})
	if err != nil {
		return err
	}
	return log.Append(append(line, '\n'))
}
