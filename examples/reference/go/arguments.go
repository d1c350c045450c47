package main

// The command line, read by the table that `input-schema` publishes: what is documented is what is accepted.
//
// Nothing that was typed is repeated in an error, since any word may be a secret in the wrong place: errors name options
// that exist, or the number of the argument.

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

type Rule struct {
	Type      string
	Enum      []string
	Minimum   int
	Maximum   int
	MinLength int
	CLI       string `json:"x-cli"`
	Expects   string `json:"x-expects"`
	Code      string `json:"x-code"`
}

type InputSchema struct {
	Properties map[string]Rule
	Required   []string
}

// Options are texts by name; a flag that is given is "true".
type Options map[string]string

// readOptions reads everything after the command.
func readOptions(schema InputSchema, words []string) (Options, error) {
	options, names, operand := Options{}, map[string]string{}, ""
	for name, rule := range schema.Properties {
		names[rule.CLI] = name
		if !strings.HasPrefix(rule.CLI, "--") {
			operand = name // a command has at most one
		}
	}
	onlyOperands := false
	for index := 0; index < len(words); index++ {
		word, number := words[index], index+2 // the command was the first argument
		label, text, equals := strings.Cut(word, "=")
		name := names[label]
		switch {
		case word == "--" && !onlyOperands:
			onlyOperands = true
			continue
		case onlyOperands || word == "-" || !strings.HasPrefix(word, "-"):
			if name, text = operand, word; options[operand] != "" {
				name = ""
			}
		case schema.Properties[name].Type == "boolean" && !equals:
			text = "true"
		case name != "" && !equals:
			index++
			if index == len(words) || strings.HasPrefix(words[index], "--") {
				return nil, misuse("MISSING_VALUE", label, label+" needs a value")
			}
			text = words[index]
		}
		if name == "" {
			return nil, unexpected(number)
		}
		if rule := schema.Properties[name]; !rule.allows(text) || (rule.Type == "boolean" && equals) {
			return nil, rule.violated()
		}
		options[name] = text
	}
	for _, name := range schema.Required {
		if options[name] == "" {
			label := schema.Properties[name].CLI
			return nil, misuse("MISSING_ARGUMENT", label, label+" is missing")
		}
	}
	return options, nil
}

var digits = regexp.MustCompile(`^[0-9]{1,9}$`)

func (rule Rule) allows(text string) bool {
	number, _ := strconv.Atoi(text)
	return slices.Contains(rule.Enum, text) || rule.Type == "boolean" ||
		(rule.Type == "string" && len(text) >= rule.MinLength) ||
		(rule.Type == "integer" && digits.MatchString(text) && number >= rule.Minimum && number <= rule.Maximum)
}

func (rule Rule) violated() error {
	code, expects := rule.Code, rule.Expects
	if code == "" {
		code = "INVALID_VALUE"
	}
	if expects == "" {
		expects = "left without a value"
	}
	return misuse(code, rule.CLI, rule.CLI+" must be "+expects)
}

func misuse(code, target, message string) error {
	fail := newFail("usage", code, "%s", message)
	fail.event.Target = target
	return fail
}

func unexpected(number int) error {
	fail := newFail("usage", "UNEXPECTED_ARGUMENT", "Argument %d is not expected here", number)
	fail.event.Argument = number
	return fail
}
