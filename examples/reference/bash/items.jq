# What ref-bash does with JSON: the command line, the items, the store, the input. Reads and writes nothing itself.
#
# Programs answer in lines of a tag, a tab, and JSON: `domain` and `error` are events, `store` is the new store, `more` what
# the summary adds, `fail` ends the run. Failures are raised with `error` and become such a line in `answer`.

def fail($category; $code; $message; $details):
  error({type: "aoi:error", category: $category, code: $code, message: $message, retryable: ($category == "temporary")}
    + $details);

def line($tag): $tag + "\t" + tojson;

def answer(program): try program catch (if type == "object" then line("fail") else error end);

# [What the program makes], or null if that fails: until jq 1.7 `try` also caught what was raised by whatever follows it.
def parsed(program): [try [program] catch null][0];

# The command line, read by the table that input-schema publishes: what is documented is what is accepted. Nothing that was
# typed is repeated in an error, since any word may be a secret in the wrong place.

def misuse($code; $target; $problem): fail("usage"; $code; $target + $problem; {target: $target});

def unexpected: fail("usage"; "UNEXPECTED_ARGUMENT"; "Argument \(.) is not expected here"; {argument: .});

def value($rule):
  if (. as $text | any($rule.enum // [] | .[]; . == $text)) then .
  elif $rule.type == "integer" and test("\\A[0-9]{1,9}\\z")
    and (tonumber | . >= $rule.minimum and . <= $rule.maximum) then tonumber
  elif $rule.type == "string" and length >= ($rule.minLength // 0) then .
  else misuse($rule["x-code"] // "INVALID_VALUE"; $rule["x-cli"]; " must be \($rule["x-expects"])")
  end;

def options($schema; $words):
  [$schema.properties | to_entries[] | {key: .value["x-cli"], value: {name: .key, rule: .value}}] as $rules
  | ([$rules[] | select(.key | startswith("--") | not)][0].value) as $operand
  | ($rules | from_entries) as $rules
  | {index: 0, only_operands: false, options: {}}
  | until(.index >= ($words | length);
      .index as $index | .index += 1
      | $words[$index] as $word
      | ($word | split("=")) as $parts
      | ($parts[0] // "") as $named
      | $rules[$named] as $found
      | if $word == "--" and (.only_operands | not) then .only_operands = true
        elif .only_operands or $word == "-" or ($word | startswith("-") | not) then
          if $operand == null or (.options | has($operand.name)) then $index + 2 | unexpected
          else .options[$operand.name] = ($word | value($operand.rule)) end
        elif $found == null then $index + 2 | unexpected
        elif $parts | length > 1 then .options[$found.name] = ($parts[1:] | join("=") | value($found.rule))
        elif $found.rule.type == "boolean" then .options[$found.name] = true
        elif .index == ($words | length) or ($words[.index] | startswith("--")) then
          misuse("MISSING_VALUE"; $named; " needs a value")
        else .options[$found.name] = ($words[.index] | value($found.rule)) | .index += 1
        end)
  | .options as $options
  | ([$schema.required[] | select(. as $name | $options | has($name) | not)][0]) as $missing
  | if $missing == null then $options
    else misuse("MISSING_ARGUMENT"; $schema.properties[$missing]["x-cli"]; " is missing") end;

# The input is the words, each ended by NUL, and the word end; the answer is shell assignments.
def understand($text; $tool; $version):
  ($text | split("{tool}") | join($tool) | split("{version}") | join($version) | fromjson) as $contract
  | split("\u0000")[:-1] as $argv
  | ($argv[0] // "") as $first
  | (if $contract.inputs | has($first) then $first else "" end) as $command
  | try
      if any($argv[]; . == "--help" or . == "-h") then {action: "text", text: $contract.help}
      elif $argv == ["--version"] then {action: "text", text: "\($tool) \($version)\n"}
      elif $command == "" then fail("usage"; "UNKNOWN_COMMAND"; "The first argument is not a command"; {})
      else options($contract.inputs[$command]; $argv[1:]) as $options
        | if any("schema", "capabilities"; . == $command) then {action: "text", text: ($contract[$command] | tojson + "\n")}
          elif $command == "input-schema" then {action: "text", text: ($contract.inputs[$options.command] | tojson + "\n")}
          else {action: "run", command: $command, options: ($options | tojson)}
          end
      end
    catch (if type == "object" then {action: "misuse", command: $command, text: tojson} else error end)
  | to_entries[] | "\(.key)=\(.value | @sh)";

# The store is {next, items, keys}; the input is the text of the file, empty when there is none.

def store:
  (if . == "" then [{next: 1, items: [], keys: {}}] else parsed(fromjson) end)[0]
  | if type == "object" and ([.next, .items, .keys | type] == ["number", "array", "object"]) then .
    else fail("io"; "STORE_UNREADABLE"; "The store cannot be read"; {}) end;

def doctor:
  (try (store.items | {ok: true, severity: "info", detail: "\(length) items"})
    catch {ok: false, severity: "error", detail: .message})
  | {type: "aoi:check", name: "store"} + . | line("domain");

# A cursor is the number of the last id: it survives the deletion of that item.
def page($ask):
  answer(
    (if $ask.cursor == null then 0
      elif $ask.cursor | test("\\Aafter-[0-9]{1,9}\\z") then $ask.cursor[6:] | tonumber
      else fail("validation"; "INVALID_CURSOR"; "The cursor is damaged"; {}) end) as $after
    | ($ask.limit // 20) as $limit
    | [store.items[] | select($ask.query == null or (.title | ascii_downcase | contains($ask.query | ascii_downcase)))]
    | to_entries
    | map(if $ask.query then {type: "hit", rank: (.key + 1)} + .value else {type: "entry"} + .value end)
    | map(select((.id[1:] | tonumber) > $after))
    | (.[:$limit][] | line("domain")),
      (select(length > $limit) | "more\t,\"next_cursor\":\"after-\(.[$limit - 1].id[1:])\""));

# The input side: JSONL that may be the stream of another AOI tool (sections 12 and 13). The answer is the titles.

def bad_title: type != "string" or length < 1 or length > 200 or any(explode[]; . < 32 or . == 127 or . == 65533);

def no_title($prefix): $prefix + "title must be 1 to 200 characters, none of them a control character";

# jq is more lenient than JSON: it takes NaN, raw control characters in texts, and bytes that are no UTF-8 (U+FFFD by now).
def strict_json:
  if test("\ufffd") or (gsub("\"(?>[^\"\\\\\\x00-\\x1f]+|\\\\.)*\""; "") | test("\"|nan"; "i"))
  then error("not JSON") else fromjson end;

def intake:
  def rejected($code; $problem): .number as $number
    | fail("validation"; $code; "Input line \($number)\($problem)"; {line_number: $number});
  def step($text):
    .number += 1
    | ($text | parsed(strict_json)) as $found
    | if $text | test("\\A[ \t\r]*\\z") then .
      elif $found == null then rejected("INPUT_JSONL_PARSE_ERROR"; " is not JSON")
      elif $found[0] | type != "object" then rejected("INPUT_INVALID"; " is not an object")
      else $found[0] as $item | ($item.type // "entry" | tostring) as $kind
        | if $kind == "aoi:meta" then .open = true
          elif $kind == "aoi:error" then .failed = true
          elif $kind == "aoi:summary" then .open = false | .failed = (.failed or $item.ok != true)
          elif $kind != "entry" then .ignored += (if $kind | startswith("aoi:") then 0 else 1 end)
          elif $item.title | bad_title then rejected("INPUT_INVALID"; no_title(": "))
          else .items += [{title: $item.title, line: .number}]
          end
      end;
  answer(reduce split("\n")[] as $text ({number: 0, ignored: 0, items: []}; step($text))
    | if .open then fail("io"; "UPSTREAM_INCOMPLETE"; "The upstream tool ended without a summary"; {})
      elif .failed then fail("partial"; "UPSTREAM_FAILED"; "The upstream tool reported a failure"; {})
      else (.items | line("items")), (select(.ignored > 0) | "more\t,\"ignored_count\":\(.ignored)") end);

# Show the plan, or do it once and for all: a repeated call with the same key gets the events of the first.
def change($command; $ask; $read):
  answer(
    (if $command == "create" then [{title: $ask.title}] else $read end) as $items
    | (if $command == "delete" then ["delete", $ask.id] else [$command, $items[].title] end) as $request
    | ($ask["idempotency-key"] // null) as $key
    | store
    | (if $key != null and ($ask["dry-run"] | not) then .keys[$key] else null end) as $done
    | if $done != null then
        if $done.request == $request then ($done.events[] | line("domain")), "more\t,\"replayed\":true"
        else fail("conflict"; "IDEMPOTENCY_KEY_REUSED"; "This idempotency key was used for another call"; {}) end
      elif $command == "create" and ($ask.title | bad_title) then fail("validation"; "ITEM_INVALID"; no_title(""); {})
      elif $command == "delete" and (any(.items[]; .id == $ask.id) | not) then
        fail("not_found"; "ITEM_NOT_FOUND"; "There is no item with this id"; {target: "ID"})
      elif $ask["dry-run"] then
        (if $command == "delete" then {type: "aoi:plan", action: "delete", target: $ask.id}
          else $items[] | {type: "aoi:plan", action: "create"} + (if .line then {line_number: .line} else {} end) end
          | line("domain")),
        "more\t,\"dry_run\":true"
      else
        (if $command == "delete" then .items |= map(select(.id != $ask.id)) | .events = [{type: "deleted", id: $ask.id}]
          else reduce $items[] as $item (.events = [];
            "n\(.next)" as $id | .next += 1
            | .items += [{id: $id, title: $item.title}]
            | .events += [{type: "created", id: $id} + (if $item.line then {line_number: $item.line} else {} end)])
          end)
        | (if $key != null then .keys[$key] = {request: $request, events} else . end)
        | (.events[] | line("domain")), ({next, items, keys} | line("store"))
      end);

def difference($known):
  answer(store.items | map(.id) | . as $now
    | (($known - $now)[] | {type: "deleted", id: .} | line("domain")),
      (($now - $known)[] | {type: "created", id: .} | line("domain")),
      ($now | line("known")));
