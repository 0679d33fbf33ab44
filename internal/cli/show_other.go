//go:build !unix

package cli

import "os"

// showOn gives the signals that ask a worker what it is doing: there are none here.
func showOn() (asked <-chan os.Signal, end func()) { return nil, func() {} }
