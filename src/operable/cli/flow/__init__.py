"""What the commands of `operable flow`, and `operable rpc`, share: their events, their input and their two phases."""
