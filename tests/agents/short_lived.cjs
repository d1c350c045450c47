// For agents that live for seconds: without the compiler that pays after minutes. NODE_OPTIONS cannot name these flags.
const { setFlagsFromString } = require("node:v8");
setFlagsFromString("--no-opt");
setFlagsFromString("--liftoff-only");
setFlagsFromString("--no-wasm-dynamic-tiering");
