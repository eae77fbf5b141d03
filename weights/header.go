package weights

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

const metadataKey = "__metadata__"

// parseHeader reads the JSON header. It first checks that the whole text is JSON, and then walks it
// token by token, because json.Unmarshal accepts duplicate keys.
func parseHeader(header []byte) (map[string]string, []entry, error) {
	if len(header) == 0 || header[0] != '{' {
		return nil, nil, broken("InvalidHeaderStart", "the header does not begin with {")
	}
	if !json.Valid(header) {
		return nil, nil, broken("InvalidHeaderDeserialization", "the header is not valid JSON")
	}
	p := headerParser{json.NewDecoder(bytes.NewReader(header))}
	p.UseNumber()
	metadata := map[string]string{}
	var entries []entry
	err := p.object("the header", func(name string) (err error) {
		if name == metadataKey {
			return p.object(metadataKey, func(key string) error {
				value, err := p.text(metadataKey + " " + key)
				metadata[key] = value
				return err
			})
		}
		if len(entries) == MaxTensors {
			return broken("TooManyTensors", "more than %d tensors", MaxTensors)
		}
		e, err := p.entry(name)
		entries = append(entries, e)
		return err
	})
	return metadata, entries, err
}

type headerParser struct{ *json.Decoder }

func malformed(format string, args ...any) error {
	return broken("InvalidHeaderDeserialization", format, args...)
}

// object walks a JSON object and calls member at each value. A duplicate key is an error.
func (p headerParser) object(what string, member func(key string) error) error {
	if token, _ := p.Token(); token != json.Delim('{') {
		return malformed("%s is not an object", what)
	}
	seen := map[string]bool{}
	for p.More() {
		key, err := p.text("the name of a member of " + what)
		if err != nil {
			return err
		}
		if seen[key] {
			return malformed("%s has the key %q twice", what, key)
		}
		seen[key] = true
		if err := member(key); err != nil {
			return err
		}
	}
	_, err := p.Token()
	return err
}

func (p headerParser) text(what string) (string, error) {
	token, _ := p.Token()
	s, ok := token.(string)
	if !ok {
		return "", malformed("%s is not text", what)
	}
	return s, nil
}

// numbers reads an array of non-negative integers.
func (p headerParser) numbers(what string) ([]uint64, error) {
	if token, _ := p.Token(); token != json.Delim('[') {
		return nil, malformed("%s is not an array", what)
	}
	var values []uint64
	for p.More() {
		token, _ := p.Token()
		digits, ok := token.(json.Number)
		v, err := strconv.ParseUint(string(digits), 10, 64)
		if !ok || err != nil {
			return nil, malformed("%s has the entry %v, which is not a whole number from 0 to 2⁶⁴−1", what, token)
		}
		if len(values) == MaxRank {
			return nil, broken("TooManyDimensions", "%s has more than %d entries", what, MaxRank)
		}
		values = append(values, v)
	}
	_, err := p.Token()
	return values, err
}

// entry reads one tensor's {"dtype", "shape", "data_offsets"}. It ignores other members, as the
// reference implementation does.
func (p headerParser) entry(name string) (entry, error) {
	e := entry{name: name}
	var members int
	err := p.object(fmt.Sprintf("tensor %q", name), func(key string) error {
		switch key {
		case "dtype":
			members++
			s, err := p.text(fmt.Sprintf("the dtype of tensor %q", name))
			if err != nil {
				return err
			}
			e.dtype = DType(s)
			if _, known := dtypes[e.dtype]; !known {
				return malformed("tensor %q has the unknown dtype %q", name, s)
			}
		case "shape":
			members++
			shape, err := p.numbers(fmt.Sprintf("the shape of tensor %q", name))
			e.shape = shape
			return err
		case "data_offsets":
			members++
			offsets, err := p.numbers(fmt.Sprintf("data_offsets of tensor %q", name))
			if err != nil {
				return err
			}
			if len(offsets) != 2 {
				return malformed("data_offsets of tensor %q has %d entries, not 2", name, len(offsets))
			}
			e.begin, e.end = offsets[0], offsets[1]
		default:
			var skipped json.RawMessage
			if err := p.Decode(&skipped); err != nil && err != io.EOF {
				return malformed("member %q of tensor %q: %v", key, name, err)
			}
		}
		return nil
	})
	if err == nil && members != 3 {
		err = malformed("tensor %q lacks dtype, shape or data_offsets", name)
	}
	return e, err
}

// formatHeader writes the header, padded with spaces to a multiple of 8 bytes.
func formatHeader(metadata map[string]string, entries []entry) ([]byte, error) {
	var members []string
	member := func(name string, value any) { members = append(members, asJSON(name)+":"+asJSON(value)) }
	for key, value := range metadata {
		if !utf8.ValidString(key) || !utf8.ValidString(value) {
			return nil, fmt.Errorf("weights: metadata %q is not UTF-8", key)
		}
	}
	if len(metadata) > 0 {
		member(metadataKey, metadata) // encoding/json sorts the keys
	}
	for _, e := range entries {
		member(e.name, struct {
			DType   DType     `json:"dtype"`
			Shape   []uint64  `json:"shape"`
			Offsets [2]uint64 `json:"data_offsets"`
		}{e.dtype, e.shape, [2]uint64{e.begin, e.end}})
	}
	header := "{" + strings.Join(members, ",") + "}"
	header += strings.Repeat(" ", -len(header)&7)
	if len(header) > MaxHeaderBytes {
		return nil, fmt.Errorf("weights: the header takes %d bytes, at most %d can be written", len(header), MaxHeaderBytes)
	}
	return []byte(header), nil
}
