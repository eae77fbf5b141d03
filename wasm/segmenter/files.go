//go:build js

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"syscall/js"
	"time"

	"mrprism/internal/files/cells"
	"mrprism/internal/files/imageio"
	"mrprism/internal/output/archive"
	"mrprism/internal/output/sheet"
	"mrprism/internal/page"
)

// writeTable answers "table".
func writeTable(m message) error {
	var records []sheet.Record
	if err := json.Unmarshal([]byte(m.text("records")), &records); err != nil {
		return err
	}
	table := &sheet.Table{Table: cells.Table{Semicolons: m.Get("semicolons").Truthy()}}
	for _, r := range records {
		table.Add(r)
	}
	data, err := table.Bytes()
	if err == nil {
		m.replyBytes("table", data)
	}
	return err
}

// growing is the ZIP that is being written for the page.
var growing *archive.Writer

// writeZIP answers "zip".
func writeZIP(m message) error {
	step := m.text("step")
	if step == "begin" {
		growing = archive.New()
	}
	if growing == nil {
		return errors.New("no ZIP has begun")
	}
	var err error
	switch step {
	case "begin":
	case "add":
		err = growing.Add(m.text("name"), m.file()(), time.Now())
	case "end":
		err = growing.Close()
	default:
		err = fmt.Errorf("unknown step %q", step)
	}
	part := growing.Part()
	if err != nil || step == "end" {
		growing = nil
	}
	if err == nil {
		m.replyBytes("zip", part)
	}
	return err
}

// recognised says for each file, by its first bytes, whether it may be an image.
func recognised(heads js.Value) []any {
	are := make([]any, heads.Length())
	for i := range are {
		are[i] = imageio.Recognised(bytesOf(js.Global().Get("Uint8Array").New(heads.Index(i))))
	}
	return are
}

// correctMask answers "correct".
func correctMask(m message) error {
	data, err := page.Corrected(m.file()(), bytesOf(m.Get("mask")), m.number("turn"))
	if err == nil {
		m.replyBytes("correct", data)
	}
	return err
}

func (m message) replyBytes(kind string, data []byte) {
	bytes := toJS(data)
	m.reply(kind, map[string]any{"bytes": bytes}, bytes)
}
