package main

// The command line, read by the table that `input-schema` publishes: what is documented is what is accepted.
//
// Nothing that was typed is repeated in an error, since any word may be a secret in the wrong place: errors name options
// that exist, or the number of the argument.

import (
	"fmt"
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

// Options are values by name: string, int, bool, or []string for a list of operands.
type Options map[string]any

func (options Options) flag(name string) bool {
	return options[name] == true
}

func (options Options) text(name string) string {
	text, _ := options[name].(string)
	return text
}

func (options Options) number(name string, otherwise int) int {
	if number, ok := options[name].(int); ok {
		return number
	}
	return otherwise
}

func isOption(label string) bool { return strings.HasPrefix(label, "--") }

// commandPosition finds the first word that is neither an option nor the value of one; -1 if there is none.
func commandPosition(known map[string]Rule, argv []string) int {
	for index := 0; index < len(argv); index++ {
		if !strings.HasPrefix(argv[index], "-") {
			return index
		}
		rule, found := known[strings.TrimPrefix(argv[index], "--")]
		if found && isOption(argv[index]) && rule.Type != "boolean" {
			index++
		}
	}
	return -1
}

// readOptions reads everything but the word at position.
func readOptions(schema InputSchema, argv []string, position int) (Options, error) {
	options := Options{}
	operand := ""
	for name, rule := range schema.Properties {
		if !isOption(rule.CLI) {
			operand = name // a command has at most one
		}
	}
	onlyOperands := false
	for index := 0; index < len(argv); index++ {
		word := argv[index]
		var err error
		switch {
		case index == position:
		case onlyOperands || !strings.HasPrefix(word, "-") || word == "-":
			err = takeOperand(schema.Properties[operand], operand, options, word, index+1)
		case word == "--":
			onlyOperands = true
		default:
			index, err = takeOption(schema.Properties, options, argv, index)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, name := range schema.Required {
		if _, given := options[name]; !given {
			label := schema.Properties[name].CLI
			code := "MISSING_OPERAND"
			if isOption(label) {
				code = "MISSING_OPTION"
			}
			return nil, misuse(code, label+" is missing", label, 0)
		}
	}
	return options, nil
}

func takeOperand(rule Rule, name string, options Options, word string, number int) error {
	if rule.Type == "array" {
		words, _ := options[name].([]string)
		options[name] = append(words, word)
		return nil
	}
	if _, given := options[name]; name == "" || given {
		return misuse("UNEXPECTED_OPERAND", fmt.Sprintf("Argument %d is an operand too many", number), "", number)
	}
	options[name] = word
	return nil
}

// takeOption takes the option at index and gives the index of the last argument that belongs to it.
func takeOption(rules map[string]Rule, options Options, argv []string, index int) (int, error) {
	label, text, equals := strings.Cut(argv[index], "=")
	name := strings.TrimPrefix(label, "--")
	rule, found := rules[name]
	if !found || rule.CLI != label {
		number := index + 1
		return index, misuse("UNKNOWN_OPTION", fmt.Sprintf("Argument %d is not an option here", number), "", number)
	}
	if rule.Type == "boolean" {
		if equals {
			return index, misuse("INVALID_VALUE", label+" takes no value", label, 0)
		}
		options[name] = true
		return index, nil
	}
	if !equals {
		index++
		if index == len(argv) || isOption(argv[index]) {
			return index, misuse("MISSING_VALUE", label+" needs a value", label, 0)
		}
		text = argv[index]
	}
	value, err := readValue(rule, text)
	options[name] = value
	return index, err
}

func readValue(rule Rule, text string) (any, error) {
	if slices.Contains(rule.Enum, text) {
		return text, nil
	}
	if rule.Type == "string" && len(text) >= rule.MinLength {
		return text, nil
	}
	if rule.Type == "integer" && strings.Trim(text, "0123456789") == "" {
		number, err := strconv.Atoi(text)
		if err == nil && number >= rule.Minimum && number <= rule.Maximum {
			return number, nil
		}
	}
	code := rule.Code
	if code == "" {
		code = "INVALID_VALUE"
	}
	return nil, misuse(code, rule.CLI+" must be "+rule.Expects, rule.CLI, 0)
}

func misuse(code, message, target string, argument int) error {
	fail := newFail("usage", code, message)
	fail.Target, fail.Argument = target, argument
	return fail
}
