package site

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A kiosk's page closes what the last person opened, once nobody touches it.
func TestIdlePageStartsAnew(t *testing.T) {
	t.Parallel()
	s := mock(t, nil)
	s.wishes = "?idle=1"
	p := open(t, s, 1200, 800)
	p.ready()
	p.do(`window.untouched = true`)
	p.sample()
	p.press("ArrowRight", false)
	p.until(`window.untouched === undefined`) // loaded anew
	p.ready()
	assert.Empty(t, p.text("file-line"))
	assert.False(t, p.visible("save"))
	p.clean()
}
