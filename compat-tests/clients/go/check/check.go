// Package check runs checks and reports them as harness/client_programs.py says. It knows no Kafka library.
package check

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"time"
)

const (
	Records  = 200
	Large    = 900 * 1024
	TooLarge = 2 * 1024 * 1024
	Timeout  = 30 * time.Second
	// CommitEvery is how many records a committing consumer reads between two commits.
	CommitEvery = 100
)

// Codecs are the names of all compression codecs.
var Codecs = []string{"none", "gzip", "snappy", "lz4", "zstd"}

// Check is one named check.
type Check struct {
	Name   string
	Action func() error
}

// Run runs the checks in order and prints a line for each.
func Run(checks []Check) {
	for _, each := range checks {
		started := time.Now()
		if err := attempt(each.Action); err != nil {
			Print("failed " + each.Name + ": " + strings.ReplaceAll(err.Error(), "\n", " "))
		} else {
			Print("ok " + each.Name)
		}
		Print(fmt.Sprintf("# %.2f s", time.Since(started).Seconds()))
	}
}

// attempt makes a failed Require, or a panic of a client library, the failure of its check.
func attempt(action func() error) (err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("%v", panicked)
		}
	}()
	return action()
}

var output = bufio.NewWriter(os.Stdout)
var printing = make(chan struct{}, 1)

// Print writes a line at once; goroutines may call it together.
func Print(line string) {
	printing <- struct{}{}
	fmt.Fprintln(output, line)
	output.Flush()
	<-printing
}

// Unique gives a name that no other run uses.
func Unique(name string) string {
	random := make([]byte, 4)
	rand.Read(random)
	return fmt.Sprintf("%s-%x", name, random)
}

// SampleValues are values that compress, one empty, one with every byte in it.
func SampleValues(count int) [][]byte {
	values := make([][]byte, count)
	for number := range values {
		values[number] = bytes.Repeat([]byte(fmt.Sprintf("value-%d ", number)), 10)
	}
	values[1] = []byte{}
	values[2] = make([]byte, 256)
	for value := range values[2] {
		values[2][value] = byte(value)
	}
	return values
}

// Equal fails unless both values are deeply equal.
func Equal(actual, wanted any, what string) error {
	if reflect.DeepEqual(actual, wanted) {
		return nil
	}
	return fmt.Errorf("%s is %.300v, not %.300v", what, actual, wanted)
}

// Fails fails unless err is the wanted error.
func Fails(err, wanted error) error {
	if err == nil {
		return fmt.Errorf("no error, but wanted: %v", wanted)
	}
	if !errors.Is(err, wanted) {
		return fmt.Errorf("the error is %v, not %v", err, wanted)
	}
	return nil
}

// Until repeats the condition until it is true.
func Until(condition func() (bool, error), what string) error {
	deadline := time.Now().Add(Timeout)
	for {
		done, err := condition()
		if done {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s did not happen within %v (last error: %v)", what, Timeout, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// First is the first error of several.
func First(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Main dispatches the command line.
func Main(suite func(address string) error, load, verify func(address, topic string) error) {
	var err error
	switch os.Args[1] {
	case "suite":
		err = suite(os.Args[2])
	case "load":
		err = load(os.Args[2], os.Args[3])
	case "verify":
		err = verify(os.Args[2], os.Args[3])
	default:
		err = fmt.Errorf("unknown mode %s", os.Args[1])
	}
	if err != nil {
		Print("# " + err.Error())
		os.Exit(1)
	}
	Print("end")
}

// InputClosed is closed when standard input is.
func InputClosed() <-chan struct{} {
	closed := make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(closed)
	}()
	return closed
}

// Require ends the running check with this error, if it is one.
func Require(errs ...error) {
	if err := First(errs...); err != nil {
		panic(err)
	}
}

// Requiring makes a check of an action that ends by Require.
func Requiring(name string, action func()) Check {
	return Check{Name: name, Action: func() error { action(); return nil }}
}
