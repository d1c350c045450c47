// A conforming AOI tool in plain Go: standard library only.
//
// Here: what happens from start to exit. commands.go is what the tool does, stream.go its output side, intake.go its input
// side, arguments.go the command line, store.go the data, contract.json the documents that discovery prints.
package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
)

const (
	tool    = "ref-go"
	version = "1.4.0"
)

//go:embed contract.json
var contractText string

type Contract struct {
	Help         string
	Schema       json.RawMessage
	Capabilities json.RawMessage
	Inputs       map[string]json.RawMessage
}

type Document struct {
	Type    string          `json:"type"`
	Name    string          `json:"name"`
	Content json.RawMessage `json:"content"`
}

func main() {
	stream := newStream()
	os.Exit(run(stream, os.Args[1:]))
}

func run(stream *Stream, argv []string) (status int) {
	meta := Meta{}
	introduced := false
	fatal := func(err error) int {
		if !introduced {
			stream.meta(Meta{Command: meta.Command})
		}
		fail := asFail(err)
		if fail.Category == "usage" {
			fail.Hint = tool + " --help"
		}
		stream.send(fail)
		stream.finish(Summary{})
		return exitStatus[fail.Category]
	}
	defer func() { // the last resort: no stack trace, whatever happened
		if panicked := recover(); panicked != nil {
			status = fatal(fmt.Errorf("%v", panicked))
		}
	}()
	var contract Contract
	replacer := strings.NewReplacer("{tool}", tool, "{version}", version)
	if err := json.Unmarshal([]byte(replacer.Replace(contractText)), &contract); err != nil {
		return fatal(err)
	}
	words := argv
	if end := slices.Index(argv, "--"); end >= 0 {
		words = argv[:end]
	}
	if slices.Contains(words, "--help") || slices.Contains(words, "-h") {
		stream.text(contract.Help)
		return 0
	}
	command, options, err := understand(contract, argv)
	meta.Command = command
	switch {
	case err != nil:
		return fatal(err)
	case options.flag("version"):
		stream.text(tool + " " + version + "\n")
		return 0
	case commands[command] == nil:
		discover(stream, contract, command, options)
		return 0
	}
	stream.meta(particulars(command, options))
	introduced = true
	ok, err := commands[command](stream, options)
	if err != nil {
		return fatal(err)
	}
	if !ok {
		return exitStatus["validation"]
	}
	return 0
}

// understand gives the command, as far as it can be known, and its options.
func understand(contract Contract, argv []string) (string, Options, error) {
	var global InputSchema
	if err := json.Unmarshal(contract.Inputs[""], &global); err != nil {
		return "", nil, err
	}
	position := commandPosition(global.Properties, argv)
	if position < 0 {
		options, err := readOptions(global, argv, position)
		if err != nil || options.flag("version") {
			return "", options, err
		}
		for _, name := range []string{"schema", "capabilities"} {
			if options.flag(name) {
				return name, options, nil
			}
		}
		return "", nil, misuse("MISSING_COMMAND", "A command is missing", "", 0)
	}
	command := argv[position]
	var schema InputSchema
	if raw, known := contract.Inputs[command]; !known || command == "" {
		number := position + 1
		return "", nil, misuse("UNKNOWN_COMMAND", fmt.Sprintf("Argument %d is not a command", number), "", number)
	} else if err := json.Unmarshal(raw, &schema); err != nil {
		return command, nil, err
	}
	options, err := readOptions(schema, argv, position)
	return command, options, err
}

// particulars are what else the meta event of a command says. Never arguments as they were typed.
func particulars(command string, options Options) Meta {
	meta := Meta{Command: command, DryRun: options.flag("dry-run")}
	switch command {
	case "import":
		tolerant := options.flag("continue-on-error")
		meta.InputMode, meta.ContinueOnError = "jsonl", &tolerant
	case "watch":
		meta.Unbounded, meta.HeartbeatInterval = true, options.number("heartbeat", 2)
	}
	return meta
}

func discover(stream *Stream, contract Contract, command string, options Options) {
	documents := map[string]json.RawMessage{
		"schema":       contract.Schema,
		"capabilities": contract.Capabilities,
		"input-schema": contract.Inputs[options.text("command")],
	}
	if options.text("output") == "jsonl" || options.text("output") == "" && options.text("format") == "jsonl" {
		stream.meta(Meta{Command: command})
		stream.send(Document{"discovery_document", command, documents[command]})
		stream.finish(Summary{OK: true})
		return
	}
	stream.write(encode(documents[command]))
}
