//go:build race

package demo

const raceDetector = true // everything takes several times as long
