package text

import "syscall/js"

// Composed is a text in composed Unicode (NFC). The browser has the tables, which are 0.1 MB.
func Composed(s string) string {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return js.ValueOf(s).Call("normalize").String()
		}
	}
	return s
}
