//go:build simd128

package vector

import (
	"math"
	"syscall/js"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// crewOrSkip returns the crew. The browser starts the threads while the program waits.
func crewOrSkip(t *testing.T) *Crew {
	if !js.Global().Get("crossOriginIsolated").Truthy() {
		require.Nil(t, TakeCrew(), "memory is the program's own")
		t.Skip("no page that may share memory")
	}
	if js.Global().Get("navigator").Get("hardwareConcurrency").Int() < 2 {
		require.Nil(t, TakeCrew())
		t.Skip("one core")
	}
	var c *Crew
	for until := time.Now().Add(20 * time.Second); c == nil && time.Now().Before(until); c = TakeCrew() {
		time.Sleep(time.Millisecond)
	}
	require.NotNil(t, c, "threads did not start")
	t.Cleanup(c.Leave)
	return c
}

// panel computes attention on one panel, and a product of several lines.
type panel struct{ x, right, sums, shift, total []float32 }

const panelKeys, panelWidth = 600, 24

func newPanel(seed uint64) *panel {
	return &panel{x: random(panelKeys*panelWidth, seed), sums: make([]float32, panelKeys*Columns()), right: random(panelWidth*Columns(), seed+1),
		shift: make([]float32, Columns()), total: make([]float32, Columns())}
}

func (p *panel) compute(c *Calls) {
	var m Matrix
	m.Wrap(panelWidth, p.right)
	c.Multiply(&m, panelKeys, p.x, panelWidth, 1, p.sums, Columns(), false)
	lines := Left{Values: p.x, Lines: 3, Rows: 100, Line: 130 * panelWidth, Row: panelWidth, Step: 1}
	c.MultiplyPart(&m, Part{First: 2, Terms: 20, Panels: 1}, lines, p.sums, Columns(), true)
	c.ExpColumns(p.sums, .05, p.shift, p.total)
}

// Threads give the bits of the program, at every level, also in memory that is newer than the
// threads.
func TestCrew(t *testing.T) {
	c := crewOrSkip(t)
	assert.Nil(t, TakeCrew(), "one has it at a time")
	had, room := system(), make([]float32, 192<<18)
	require.Greater(t, system(), had)
	asLevels(t, func(l *Level) {
		if l == plain {
			return
		}
		type piece struct {
			*panel
			want  *panel
			calls *Calls
		}
		var under []piece
		finish := func() {
			p := under[0]
			under = under[1:]
			if c.Finish(p.calls, p.panel) {
				assert.Equal(t, p.want, p.panel)
			}
		}
		for i := range 500 {
			p := piece{panel: newPanel(uint64(i % 7)), want: newPanel(uint64(i % 7))}
			p.sums = room[i*len(p.sums):][:len(p.sums)]
			p.want.compute(nil)
			for p.calls = c.Calls(); p.calls == nil; p.calls = c.Calls() {
				finish()
			}
			p.compute(p.calls)
			c.Publish(p.calls)
			under = append(under, p)
		}
		for len(under) > 0 {
			finish()
		}
	})
	assert.Zero(t, c.flying)
}

// A piece whose thread hangs is given up soon, and its memory is kept until the thread ends.
func TestThreadThatIsLate(t *testing.T) {
	c := crewOrSkip(t)
	calls := c.Calls()
	s := &c.slots[calls.slot]
	board[boardDone+calls.slot] = 0
	s.state = flying // as if a thread had taken it
	c.flying++
	began := time.Now()
	require.False(t, c.Finish(calls, "memory"))
	assert.Less(t, time.Since(began), 10*time.Second)
	for range 2 * mostFlying {
		other := c.Calls()
		require.NotEqual(t, calls.slot, other.slot)
		assert.Equal(t, "memory", s.holds)
		c.Publish(other)
		c.Finish(other, nil)
	}
	board[boardDone+calls.slot] = 1
	assert.Equal(t, calls.slot, c.Calls().slot)
	assert.Nil(t, s.holds)
}

// A piece cannot have more than MostCalls calls.
func TestTooManyCalls(t *testing.T) {
	c, x := &Calls{}, make([]float32, 8)
	for range MostCalls {
		c.ExpColumns(x, 1, x, x)
	}
	assert.Panics(t, func() { c.ExpColumns(x, 1, x, x) })
	assert.EqualValues(t, math.Float32bits(1), board[boardCalls+1+5])
}
