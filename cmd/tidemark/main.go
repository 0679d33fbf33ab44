// Command tidemark copies topics between Kafka clusters and carries every consumer group's position across exactly.
//
// Everything is in internal/cli; this file only hands over the process: its arguments, its streams and its exit code.
package main

import (
	"os"

	"tidemark/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr)) }
