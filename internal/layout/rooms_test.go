package layout

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// rooms are the folders of the tower, from the ground up. A package imports packages of its own
// room and of the rooms before it.
var rooms = []string{
	"site",            // the page, and the server's part of it
	"internal/choice", // errors about options and names
	"shaders",         // devices, operators, plans
	"weights",         // files of weights, and formats of others
	"model",           // the paper, its layers and its rivals
	"internal/program", "internal/files", "internal/data", "internal/trust", "internal/segment", "internal/output",
	".", // package mrprism, for programs of other modules
	"internal/page", "internal/command", "internal/study", "internal/train", "internal/layout", "internal/release",
	"wasm", // the page's programs
	"cmd",  // the programs
}

// room is the place of a package in rooms; -1: it lies in none.
func room(name string) int {
	return slices.IndexFunc(rooms, func(r string) bool { return within(name, r) })
}

func TestImportsRunDown(t *testing.T) {
	both(t, func(t *testing.T, all []*list) {
		for _, p := range all {
			at := room(p.name())
			if !assert.GreaterOrEqual(t, at, 0, "%s lies in no room: give it one, or add a room to rooms", p.name()) {
				continue
			}
			for _, used := range ours(p.Imports) {
				assert.LessOrEqual(t, room(used), at, "imports run down: %s, in the room %s, imports %s of the room %s above it", p.name(), rooms[at], used, rooms[max(0, room(used))])
			}
		}
	})
}

// A room's name says where one is: only a program of cmd is named as the room that it runs, and
// packages for tests as what they test.
func TestNamesOccurOnce(t *testing.T) {
	places := map[string]string{}
	for _, p := range packages(t) {
		name := p.name()
		if within(name, "cmd") && strings.Count(name, "/") == 1 {
			continue
		}
		base := path.Base(name)
		assert.Empty(t, places[base], "%s has the name of another folder", name)
		places[base] = name
	}
}
