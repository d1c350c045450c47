"""What the commands `operable engine …` share."""
