//go:build js

package main

import (
	"context"
	"syscall/js"
	"time"
)

// memoryTime is for what the browser remembers.
const memoryTime = 2 * time.Second

// browserMemory is what the browser keeps for this site.
type browserMemory struct{}

// Get implements choose.Memory.
func (browserMemory) Get(key string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), memoryTime)
	defer cancel()
	text, err := await(ctx, js.Global().Get("mrprismMemory").Call("get", key))
	if err != nil || text.Type() != js.TypeString {
		return nil, err
	}
	return []byte(text.String()), nil
}

// Put implements choose.Memory.
func (browserMemory) Put(key string, text []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), memoryTime)
	defer cancel()
	_, err := await(ctx, js.Global().Get("mrprismMemory").Call("put", key, string(text)))
	return err
}
