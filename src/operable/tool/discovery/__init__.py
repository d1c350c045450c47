"""What a tool says about itself: schema, capabilities, help, completion, versions."""
